#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "checkmate/result.h"
#include "checkmate/whole_costs.h"

namespace checkmate {

/// Reads an unchecked JSON document, value by value, without building a tree. The reader stands
/// on one value at a time: object() and array() move it through the members. After the first failure every
/// call does nothing and returns an empty value, so that a caller looks once, at the end. Errors name the
/// file, the line and the JSON path.
///
///     JsonReader json(text, "graph.json");
///     json.object(kFields, Others::kRefuse, [&](std::size_t field) {
///       if (field == 0) name = json.string();
///     });
///     CHECKMATE_TRY(json.finish());
class JsonReader {
 public:
  struct Field {
    std::string_view name;
    bool required = false;
  };
  /// What to do with members that are not in the list: refuse them (our formats), check that they are JSON
  /// and go on (formats of others), or leave them unread (for a first look before rewind()).
  enum class Others { kRefuse, kSkip, kIgnore };

  JsonReader(std::string text, std::string source);
  ~JsonReader();
  JsonReader(const JsonReader&) = delete;
  JsonReader& operator=(const JsonReader&) = delete;

  /// visit(i) with the reader on the value of fields[i], in the order of the file, each at most once.
  template <class Visit>
  void object(std::span<const Field> fields, Others others, Visit visit) {
    visit_members(
        fields, others, [](void* context, std::size_t i) { (*static_cast<Visit*>(context))(i); }, &visit);
  }
  /// visit(i) with the reader on each item.
  template <class Visit>
  void array(Visit visit) {
    visit_items([](void* context, std::size_t i) { (*static_cast<Visit*>(context))(i); }, &visit);
  }
  enum class Type { kObject, kArray, kString, kNumber, kOther };
  Type type();

  /// A whole number of at least `least`, written without point or exponent.
  std::int64_t integer(std::int64_t least = 0);
  /// The same, or a float without a fraction: what networkx and numpy write.
  std::int64_t whole_number(std::int64_t least = 0);
  /// A number that is 0 or more, with or without a fraction.
  DecimalCost decimal_cost();
  /// An index for a list of 32-bit ids.
  std::uint32_t index();
  bool boolean();
  /// Valid as long as the reader.
  std::string_view string();
  /// Checks that the value is JSON and forgets it.
  void skip();

  /// Fails at the reader's place.
  void fail(std::string_view message);
  bool failed() const;
  /// Back to the start of the document, for a second look.
  void rewind();
  /// The first failure, or that the document has ended as it should.
  Result<void> finish();

 private:
  using Visitor = void (*)(void* context, std::size_t index);
  void visit_members(std::span<const Field> fields, Others others, Visitor visit, void* context);
  void visit_items(Visitor visit, void* context);

  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace checkmate
