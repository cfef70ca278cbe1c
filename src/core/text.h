#pragma once

#include <string>
#include <string_view>

#include "checkmate/units.h"

namespace checkmate {

/// A name from a file, fit for one line of a message or a table: control characters, and those that turn the
/// direction of text, escaped; cut to `limit` characters (never inside a UTF-8 sequence) with `...` where
/// longer.
std::string printable(std::string_view name, std::size_t limit = 60);

/// The same JSON for a terminal: such characters, of which only strings have any, in JSON's own escapes.
std::string printable_json(std::string_view json);

/// printable() in single quotes.
std::string in_quotes(std::string_view name);

/// `count thing` with an s where the count is not 1: `3 ops`.
std::string counted(std::size_t count, std::string_view thing);

/// 1234567 as `1,234,567`.
std::string grouped(std::int64_t number);

/// `6.4 GiB (6,871,947,674 bytes)`; `12 bytes` below 1 KiB.
std::string exact(Bytes bytes);

}  // namespace checkmate
