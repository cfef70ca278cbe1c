#include "checkmate/zoo.h"

#include <fmt/format.h>

#include <memory>

#include "checkmate/io.h"
#include "commands.h"
#include "console.h"
#include "core/try.h"
#include "io/json_writer.h"

namespace checkmate::tool {
namespace {

struct Flags {
  std::string spec;
  std::string output = "-";
  bool json = false;
};

void print_list() {
  for (const zoo::Network& network : zoo::networks()) {
    fmt::print("{:<16}{}\n", network.name, network.description);
    for (const zoo::Parameter& parameter : network.parameters) {
      fmt::print("    {:<24}{}\n", fmt::format("{}={}", parameter.name, parameter.fallback),
                 parameter.description);
    }
  }
}

void print_json_list() {
  JsonWriter json;
  json.begin_object().key("networks").begin_array();
  for (const zoo::Network& network : zoo::networks()) {
    json.begin_object()
        .member("name", network.name)
        .member("description", network.description)
        .key("parameters")
        .begin_array();
    for (const zoo::Parameter& parameter : network.parameters) {
      json.begin_object().member("name", parameter.name).member("default", parameter.fallback);
      json.member("description", parameter.description).end_object();
    }
    json.end_array().end_object();
  }
  json.end_array().end_object();
  print_json_line(json.text());
}

Result<int> run(const Flags& flags) {
  if (flags.spec.empty()) {
    (flags.json ? print_json_list : print_list)();
    return kDone;
  }
  CHECKMATE_TRY(const Graph graph,
                zoo::build(flags.spec.starts_with("zoo:") ? flags.spec.substr(4) : flags.spec));
  CHECKMATE_TRY(write_output(flags.output, graph_to_json(graph)));
  return kDone;
}

}  // namespace

void add_zoo(Parser& parser) {
  auto flags = std::make_shared<Flags>();
  Verb verb = parser.add("zoo", "Lists the built-in networks, or writes one as a graph file",
                         [flags] { return run(*flags); });
  verb.example("checkmate zoo 'gpt2?batch=8' -o gpt2.json");
  verb.argument("SPEC", flags->spec, "NAME?key=value&...; without it, all networks are listed",
                Verb::Need::kOptional);
  verb.option("-o,--output", flags->output, "output file; - for the standard output");
  verb.flag("--json", flags->json, "list as one JSON object");
}

}  // namespace checkmate::tool
