#pragma once

// Returns an error to the caller. Only in functions that return a Result.
//
//     CHECKMATE_TRY(const Graph graph, read_graph(path));   // declares the value, or returns the error
//     CHECKMATE_TRY(write_file(path, text));                // Result<void>: nothing to declare
//
// NOLINTBEGIN(cppcoreguidelines-macro-usage): only a macro can return for its caller.
#define CHECKMATE_TRY_JOIN_(a, b) a##b
#define CHECKMATE_TRY_NAME_(line) CHECKMATE_TRY_JOIN_(try_result_, line)
#define CHECKMATE_TRY_VALUE_(result, declaration, ...) \
  auto result = (__VA_ARGS__);                         \
  if (!result) return result.error();                  \
  declaration = *std::move(result)
#define CHECKMATE_TRY_VOID_(expression) \
  if (auto try_result_void = (expression); !try_result_void) return try_result_void.error()
#define CHECKMATE_TRY_PICK_(a, b, c, d, e, f, g, h, name, ...) name
#define CHECKMATE_TRY_DECLARE_(declaration, ...) \
  CHECKMATE_TRY_VALUE_(CHECKMATE_TRY_NAME_(__LINE__), declaration, __VA_ARGS__)
#define CHECKMATE_TRY(...)                                                                                 \
  CHECKMATE_TRY_PICK_(__VA_ARGS__, CHECKMATE_TRY_DECLARE_, CHECKMATE_TRY_DECLARE_, CHECKMATE_TRY_DECLARE_, \
                      CHECKMATE_TRY_DECLARE_, CHECKMATE_TRY_DECLARE_, CHECKMATE_TRY_DECLARE_,              \
                      CHECKMATE_TRY_DECLARE_, CHECKMATE_TRY_VOID_, 0)                                      \
  (__VA_ARGS__)
// NOLINTEND(cppcoreguidelines-macro-usage)
