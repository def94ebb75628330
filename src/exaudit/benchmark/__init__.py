"""Tasks with token truth become figures: how well words are found from document labels alone, on any data."""
