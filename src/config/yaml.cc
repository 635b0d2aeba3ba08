// SPDX-License-Identifier: MIT
#include "config/yaml.h"

#include <algorithm>
#include <memory>
#include <sstream>

#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include "config/tree_builder.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::config {
namespace {

bool is_control_character(char c) {
  const auto code = static_cast<unsigned char>(c);
  return (code < 0x20 && c != '\t' && c != '\n' && c != '\r') || code == 0x7F;
}

std::size_t count_lines(std::string_view text) {
  const auto feeds = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  return feeds + (text.ends_with('\n') ? 0 : 1);
}

}  // namespace

Result<Node> parse_yaml(const std::string& file, std::string_view text) {
  const auto name = std::make_shared<const std::string>(file);
  // yaml-cpp takes one of these characters for the end of the file.
  const auto control = std::find_if(text.begin(), text.end(), is_control_character);
  if (control != text.end()) {
    const auto line = count_lines(text.substr(0, static_cast<std::size_t>(control - text.begin()) + 1));
    return mistake_at({name, line}, format("found the control character \\x{:02x}, which YAML does not allow",
                                           static_cast<unsigned char>(*control)));
  }
  // yaml-cpp would take the end of the file for the missing end of a quoted text, but not the end of a
  // document.
  std::istringstream input(std::string(text) + (text.ends_with('\n') ? "...\n" : "\n...\n"));
  TreeBuilder builder(file);
  try {
    YAML::Parser parser(input);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const YAML::Exception& error) {
    const auto line = static_cast<std::size_t>(std::max(error.mark.line, 0)) + 1;
    return mistake_at({name, std::min(line, count_lines(text))}, error.msg);
  }
  return builder.take_root();
}

}  // namespace rest_fcgi::config
