"""Files of labelling tools: read into columns and answers of annotators, written back with what siis says."""
