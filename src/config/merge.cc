// SPDX-License-Identifier: MIT
#include "config/merge.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace rest_fcgi::config {
namespace {

void append_missing(Node& into, Node list) {
  std::vector<Node> missing;
  for (Node& item : list.items) {
    const bool known = std::any_of(into.items.begin(), into.items.end(),
                                   [&item](const Node& other) { return equal(item, other); });
    if (!known) missing.push_back(std::move(item));
  }
  std::move(missing.begin(), missing.end(), std::back_inserter(into.items));
}

void set(Node& map, Entry entry) {
  if (Entry* old = map.find(entry.key)) {
    *old = std::move(entry);
  } else {
    map.entries.push_back(std::move(entry));
  }
}

}  // namespace

void merge_included(Node& into, Node file) {
  for (Entry& entry : file.entries) {
    Entry* old = into.find(entry.key);
    if (old != nullptr && old->value.is(Kind::map) && entry.value.is(Kind::map)) {
      merge_included(old->value, std::move(entry.value));
    } else if (old != nullptr && old->value.is(Kind::list) && entry.value.is(Kind::list)) {
      append_missing(old->value, std::move(entry.value));
    } else {
      set(into, std::move(entry));
    }
  }
}

void replace_keys(Node& into, Node from) {
  for (Entry& entry : from.entries) set(into, std::move(entry));
}

}  // namespace rest_fcgi::config
