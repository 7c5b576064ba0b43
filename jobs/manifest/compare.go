package manifest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jobagent/jobagent/jobs/jsontree"
)

// Compare returns the paths of the fields in which two objects of a kind differ; none if they are
// equal. The order of members does not count in JSON definitions, nor do line ends in scripts.
func Compare(a, b Object) []string {
	var paths []string
	compareNodes(canonical(a), canonical(b), "", &paths)
	return slices.DeleteFunc(paths, func(p string) bool { return p == "name" && strings.EqualFold(a.Name(), b.Name()) })
}

// Equal reports whether two parts of objects, such as two steps, are equal as Compare has it.
func Equal[T Step | Schedule | Trigger | Interval](a, b *T) bool {
	if a == nil || b == nil {
		return a == b
	}
	var paths []string
	compareNodes(part(a), part(b), "", &paths)
	return len(paths) == 0
}

func compareNodes(a, b *node, path string, paths *[]string) {
	switch {
	case a == nil || b == nil || a.kind == kindMap != (b.kind == kindMap) || a.kind == kindSeq != (b.kind == kindSeq):
		*paths = append(*paths, path)
	case a.kind == kindMap:
		for i, k := range a.keys {
			compareNodes(a.values[i], b.get(k.text), jsontree.Join(path, k.text), paths)
		}
		for _, k := range b.keys {
			if a.get(k.text) == nil {
				*paths = append(*paths, jsontree.Join(path, k.text))
			}
		}
	case a.kind == kindSeq:
		compareLists(a, b, path, paths)
	default:
		if strings.ReplaceAll(a.text, "\r\n", "\n") != strings.ReplaceAll(b.text, "\r\n", "\n") || a.kind != b.kind {
			*paths = append(*paths, path)
		}
	}
}

// compareLists compares lists: those of named objects by name, others by position.
func compareLists(a, b *node, path string, paths *[]string) {
	names, others := itemNames(a), itemNames(b)
	if names == nil || others == nil {
		if len(a.values) != len(b.values) {
			*paths = append(*paths, path)
			return
		}
		for i, v := range a.values {
			compareNodes(v, b.values[i], fmt.Sprintf("%s[%d]", path, i), paths)
		}
		return
	}
	var common, commonOthers []string
	for i, name := range names {
		at := fmt.Sprintf("%s[%s]", path, a.values[i].get("name").text)
		j := slices.Index(others, name)
		if j < 0 {
			*paths = append(*paths, at)
			continue
		}
		common = append(common, name)
		var inner []string
		compareNodes(a.values[i], b.values[j], at, &inner)
		*paths = append(*paths, slices.DeleteFunc(inner, func(p string) bool { return p == at+".name" })...)
	}
	for j, name := range others {
		if slices.Contains(names, name) {
			commonOthers = append(commonOthers, name)
		} else {
			*paths = append(*paths, fmt.Sprintf("%s[%s]", path, b.values[j].get("name").text))
		}
	}
	if !slices.Equal(common, commonOthers) {
		*paths = append(*paths, path+" (order)")
	}
}

// itemNames returns the names of a list's items in lower case; nil if one has none.
func itemNames(n *node) []string {
	names := make([]string, 0, len(n.values))
	for _, v := range n.values {
		name := v.get("name")
		if name == nil {
			return nil
		}
		names = append(names, strings.ToLower(name.text))
	}
	return names
}

// Text returns an object for people who look for differences: as YAML, with the line ends of all
// scripts alike.
func Text(o Object) string {
	n := canonical(o)
	unifyLines(n)
	var b strings.Builder
	writeMap(&b, n, "")
	return b.String()
}

func unifyLines(n *node) {
	if n.kind == kindText {
		n.text = strings.ReplaceAll(n.text, "\r\n", "\n")
	}
	for _, v := range n.values {
		unifyLines(v)
	}
}
