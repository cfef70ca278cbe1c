#include "io/json_reader.h"

#include <fmt/format.h>

// Every failure is a code that we look at: without this, a forgotten look is an exception in mid-flight.
#define SIMDJSON_EXCEPTIONS 0
#include <simdjson.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <variant>
#include <vector>

#include "core/text.h"

namespace checkmate {
namespace {

namespace ondemand = simdjson::ondemand;
constexpr std::size_t kDeepest = 64;
using PathStep = std::variant<std::string_view, std::size_t>;

}  // namespace

struct JsonReader::State {
  State(std::string document_text, std::string document_source)
      : text(std::move(document_text)), source(std::move(document_source)) {
    text.reserve(text.size() + simdjson::SIMDJSON_PADDING);
  }

  void open() {
    const simdjson::padded_string_view padded(text.data(), text.size(), text.capacity());
    if (const auto failure = parser.iterate(padded).get(document)) return syntax_error(failure);
    opened = true;
    enter_root();
  }

  void enter_root() {
    at_root = true;
    if (const auto failure = document.get_value().get(value)) {
      if (failure == simdjson::SCALAR_DOCUMENT_AS_VALUE) return fail("expected a JSON object or array");
      syntax_error(failure);
    }
  }

  std::string place() {
    std::string path = "$";
    for (const PathStep& step : path_steps) {
      if (const auto* const index = std::get_if<std::size_t>(&step)) {
        path += fmt::format("[{}]", *index);
      } else {
        path += '.';
        path += printable(std::get<std::string_view>(step));
      }
    }
    // At the root there is nothing to name.
    const std::string inside = path_steps.empty() ? "" : ": " + path;
    const std::optional<std::size_t> line = current_line();
    return line ? fmt::format("{}:{}{}", source, *line, inside) : source + inside;
  }

  std::optional<std::size_t> current_line() {
    const char* location = nullptr;
    if (!opened || document.current_location().get(location) != simdjson::SUCCESS) return std::nullopt;
    if (location < text.data() || location > text.data() + text.size()) return std::nullopt;
    return 1 + static_cast<std::size_t>(std::count(static_cast<const char*>(text.data()), location, '\n'));
  }

  void fail(std::string_view message) {
    if (!error) error = Error{ErrorCode::kInvalidFile, fmt::format("{}: {}", place(), message)};
  }

  bool ends_in_bracket() const {
    const std::size_t last = text.find_last_not_of(" \t\r\n");
    return last != std::string::npos && (text[last] == '}' || text[last] == ']');
  }

  void syntax_error(simdjson::error_code failure) {
    switch (failure) {
      case simdjson::EMPTY:
        return fail("the file is empty; expected a JSON object");
      case simdjson::UTF8_ERROR:
        return fail("the text is not UTF-8; save the file as UTF-8");
      case simdjson::UNCLOSED_STRING:
        return fail("a string is not closed; is the file truncated?");
      case simdjson::INCOMPLETE_ARRAY_OR_OBJECT:
        return fail("an object or array is not closed; is the file truncated?");
      case simdjson::INCORRECT_TYPE:
        return fail("a value of another type was expected here");
      case simdjson::CAPACITY:
        return fail("the file is too large");
      default:
        return fail(ends_in_bracket()
                        ? "invalid JSON here: a comma, colon, quote or bracket is missing or superfluous"
                        : "invalid JSON here: is the file truncated?");
    }
  }

  /// False, and a failure, when simdjson reports one: `type` words what was expected instead.
  bool got(simdjson::error_code failure, std::string_view expected) {
    if (failure == simdjson::SUCCESS) return true;
    if (failure == simdjson::INCORRECT_TYPE || failure == simdjson::NUMBER_ERROR) {
      fail(fmt::format("expected {}, got {}", expected, printable(token(), 40)));
    } else {
      syntax_error(failure);
    }
    return false;
  }

  std::string_view token() {
    std::string_view raw = value.raw_json_token();
    raw = raw.substr(0, raw.find_first_of("\r\n"));
    const std::size_t end = raw.find_last_not_of(" \t");
    return raw.substr(0, end == std::string_view::npos ? 0 : end + 1);
  }

  std::string text;
  std::string source;
  ondemand::parser parser;
  ondemand::document document;
  ondemand::value value;
  bool opened = false;
  bool at_root = false;
  std::vector<PathStep> path_steps;
  std::optional<Error> error;
};

JsonReader::JsonReader(std::string text, std::string source)
    : state_(std::make_unique<State>(std::move(text), std::move(source))) {
  state_->open();
}
JsonReader::~JsonReader() = default;

bool JsonReader::failed() const { return state_->error.has_value(); }
void JsonReader::fail(std::string_view message) { state_->fail(message); }

void JsonReader::rewind() {
  if (failed()) return;
  state_->document.rewind();
  state_->enter_root();
}

Result<void> JsonReader::finish() {
  const char* more = nullptr;
  if (!failed() && state_->document.current_location().get(more) == simdjson::SUCCESS) {
    fail("there is more text after the end of the JSON value");
  }
  if (failed()) return *state_->error;
  return {};
}

void JsonReader::visit_members(std::span<const Field> fields, Others others, Visitor visit, void* context) {
  if (failed()) return;
  State& s = *state_;
  if (s.path_steps.size() >= kDeepest) return fail(fmt::format("nested deeper than {} levels", kDeepest));
  ondemand::object object;
  if (!s.got(s.value.get_object().get(object), "an object")) return;
  std::vector<bool> seen(fields.size());
  for (auto member : object) {
    std::string_view key;
    ondemand::value member_value;
    if (!s.got(member.unescaped_key().get(key), "a member name") ||
        !s.got(member.value().get(member_value), "a value"))
      return;
    s.path_steps.emplace_back(key);
    s.value = member_value;
    const auto field =
        std::find_if(fields.begin(), fields.end(), [&](const Field& f) { return f.name == key; });
    const auto i = static_cast<std::size_t>(field - fields.begin());
    if (field == fields.end()) {
      if (others == Others::kRefuse) fail("unknown member; docs/file_formats.md lists the known ones");
      if (others == Others::kSkip) skip();
    } else if (seen[i]) {
      fail("the member is given twice");
    } else {
      seen[i] = true;
      visit(context, i);
    }
    if (failed()) return;
    s.path_steps.pop_back();
  }
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].required && !seen[i])
      return fail(fmt::format("the member {} is missing", in_quotes(fields[i].name)));
  }
}

void JsonReader::visit_items(Visitor visit, void* context) {
  if (failed()) return;
  State& s = *state_;
  if (s.path_steps.size() >= kDeepest) return fail(fmt::format("nested deeper than {} levels", kDeepest));
  ondemand::array array;
  if (!s.got(s.value.get_array().get(array), "an array")) return;
  std::size_t index = 0;
  for (auto item : array) {
    s.path_steps.emplace_back(index);
    ondemand::value item_value;
    if (!s.got(item.get(item_value), "a value")) return;
    s.value = item_value;
    visit(context, index);
    if (failed()) return;
    s.path_steps.pop_back();
    ++index;
  }
}

JsonReader::Type JsonReader::type() {
  if (failed()) return Type::kOther;
  ondemand::json_type type{};
  if (!state_->got(state_->value.type().get(type), "a value")) return Type::kOther;
  switch (type) {
    case ondemand::json_type::object:
      return Type::kObject;
    case ondemand::json_type::array:
      return Type::kArray;
    case ondemand::json_type::string:
      return Type::kString;
    case ondemand::json_type::number:
      return Type::kNumber;
    default:
      return Type::kOther;
  }
}

std::int64_t JsonReader::integer(std::int64_t least) {
  if (failed()) return least;
  std::int64_t number = 0;
  if (!state_->got(state_->value.get_int64().get(number), "a whole number below 2^63")) return least;
  if (number >= least) return number;
  fail(fmt::format("expected at least {}, got {}", least, number));
  return least;
}

std::int64_t JsonReader::whole_number(std::int64_t least) {
  if (failed()) return least;
  ondemand::number_type kind{};
  if (state_->value.get_number_type().get(kind) != simdjson::SUCCESS ||
      kind != ondemand::number_type::floating_point_number) {
    return integer(least);
  }
  constexpr double kLargestExact = 9007199254740992.0;  // 2^53
  double number = 0;
  if (!state_->got(state_->value.get_double().get(number), "a number")) return least;
  if (number >= static_cast<double>(least) && number <= kLargestExact && number == std::floor(number)) {
    return static_cast<std::int64_t>(number);
  }
  fail(fmt::format("expected a whole number from {} to 2^53, got {}", least, number));
  return least;
}

DecimalCost JsonReader::decimal_cost() {
  if (failed()) return {};
  ondemand::number_type kind{};
  if (state_->value.get_number_type().get(kind) != simdjson::SUCCESS ||
      kind != ondemand::number_type::floating_point_number) {
    return {integer(), 0};
  }
  const std::string_view written = state_->token();
  double number = 0;
  if (!state_->got(state_->value.get_double().get(number), "a number")) return {};
  const Result<DecimalCost> cost = parse_decimal_cost(written.substr(0, written.find_first_of(",]} \t")));
  const bool fits = number < static_cast<double>(kLargestTotal);
  if (cost && fits) return *cost;
  fail(fmt::format("expected {}, got {}", fits ? "at least 0" : "a number below 2^62", number));
  return {};
}

std::uint32_t JsonReader::index() {
  const std::int64_t number = integer();
  if (number < UINT32_MAX) return static_cast<std::uint32_t>(number);
  fail(fmt::format("expected an index below 2^32 - 1, got {}", number));
  return 0;
}

bool JsonReader::boolean() {
  bool truth = false;
  if (!failed()) state_->got(state_->value.get_bool().get(truth), "true or false");
  return truth;
}

std::string_view JsonReader::string() {
  std::string_view text;
  if (!failed()) state_->got(state_->value.get_string().get(text), "a string");
  return text;
}

void JsonReader::skip() {
  if (failed()) return;
  switch (type()) {
    case Type::kObject:
      return object({}, Others::kSkip, [](std::size_t) {});
    case Type::kArray:
      return array([this](std::size_t) { skip(); });
    case Type::kString:
      string();
      return;
    case Type::kNumber: {
      double ignored = 0;
      state_->got(state_->value.get_double().get(ignored), "a number");
      return;
    }
    case Type::kOther: {
      bool null = false;
      bool ignored = false;
      if (!state_->got(state_->value.is_null().get(null), "true, false or null") || null) return;
      state_->got(state_->value.get_bool().get(ignored), "true, false or null");
    }
  }
}

}  // namespace checkmate
