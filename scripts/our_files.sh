# Sourced: the C++ files that are ours to format and check.
our_files() { git ls-files --cached --others --exclude-standard -- '*.cc' '*.h'; }
