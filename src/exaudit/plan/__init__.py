"""Sizes become hours and machines: what a corpus or a support set would take, from rates that were measured."""
