# Sourced: the C++ files that are ours to format and check.
our_files() { find include src tools python tests fuzz benchmarks examples -name '*.cc' -o -name '*.h' | sort; }
