"""The paper's figures and tables, each made again by one command."""
