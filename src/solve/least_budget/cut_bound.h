#pragma once

#include "solve/common/solver.h"

namespace checkmate {

/// A lower bound on the memory of every plan, from the outputs that must all be there at its end.
///
/// Take any set V of ops, and let v be the one whose last run is the latest of all last runs of V. From then
/// on no op of V runs. So every way in the graph from an op of V to an output of the graph passes through a
/// value that is in memory while v runs: walk back from the output, which is there at the end; a value was
/// there while v ran, or it was made later, by an op outside V and from values for which the same is true.
/// While v runs there are its inputs, outputs and workspace, own(v), and so at least
///
///     own(v) + the least cut, in bytes, between V and the outputs, where the values of own(v) are free.
///
/// Which of V is v is not known, so the least of this over V is the bound. Ops that run once and come before
/// v in a fixed order have run, and never run again: they belong to what is cut off from the outputs as well.
///
/// The best V for a bound b is found by taking out, from all ops, one that is below b, again and again: what
/// is below b in V is below b in each part of V. What is left, if anything, proves b; the largest such b is
/// bisected.
///
/// Returns `known`, which is proven already, or more; b includes the graph's fixed bytes. Ends at
/// search.stopped(), or when it is within a five-hundredth of what it can prove, or above `enough`. Time:
/// some hundred least cuts for each b that is tried. Graphs without outputs have nothing to cut.
Bytes cut_bound(const SearchContext& search, Bytes known, Bytes enough);

}  // namespace checkmate
