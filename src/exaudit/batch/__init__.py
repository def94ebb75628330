"""Many files, or one of any size, in parts that are done one by one, in any order, by any process, and never twice."""
