// SPDX-License-Identifier: MIT
#include "lowstate/target.h"

#include <algorithm>

#include "lowstate/names.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::lowstate {
namespace {

void read_target_type(ChunkReader& reader, TargetType& type) {
  if (reader.find("expr_form")) {
    reader.complain("'expr_form' is no longer read; its name today is 'tgt_type'.");
  }
  if (!reader.find("tgt_type")) return;
  const std::string_view name = reader.text("tgt_type");
  if (const auto known = target_type_named(name)) {
    type = *known;
  } else {
    reader.complain(format("'tgt_type' is {}; accepted are {}.", quoted(name), all_target_types()));
  }
}

/// Salt takes a string of ids with commas between them for a list, too.
void split_at_commas(std::string_view text, std::vector<std::string_view>& list) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    if (end != 0) list.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

void read_list(ChunkReader& reader, JsonValue tgt, Target& target) {
  if (target.type != TargetType::list && target.type != TargetType::compound) {
    reader.complain(format("'tgt' is a list, which needs 'tgt_type': 'list' or 'compound'; found {}.",
                           quoted(name_of(target.type))));
  }
  target.list.reserve(tgt.size());
  for (const JsonValue element : tgt.elements()) {
    if (!element.is(JsonValue::Kind::string)) reader.refuse("tgt", "a list of strings", element);
    target.list.push_back(element.text());
  }
}

}  // namespace

void read_target(ChunkReader& reader, Client client, Target& target) {
  read_target_type(reader, target.type);
  if (reader.find("delimiter")) {
    target.delimiter = reader.text("delimiter");
    if (target.delimiter.empty()) reader.complain("'delimiter' is empty; it must be at least one character.");
  }
  const auto tgt = reader.find("tgt");
  if (!tgt) {
    reader.complain(format("'tgt' is missing; a {} chunk needs 'client', 'tgt' and 'fun'.", name_of(client)));
    return;
  }
  target.as_sent = *tgt;
  if (tgt->is(JsonValue::Kind::array)) {
    read_list(reader, *tgt, target);
  } else if (!tgt->is(JsonValue::Kind::string)) {
    reader.refuse("tgt", "a string or a list of strings", *tgt);
  } else if (target.type == TargetType::list) {
    split_at_commas(tgt->text(), target.list);
  } else {
    target.expression = tgt->text();
  }
}

}  // namespace rest_fcgi::lowstate
