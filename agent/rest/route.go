package rest

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// routes finds operations by path and method. It does not change once it is built.
type routes struct{ root *node }

// node is a place in the tree of path templates.
type node struct {
	literal map[string]*node // by segment in lower case
	param   *node            // the child for a parameter; nil: none
	mount   *Mount           // the mount of the first template that passes here
	ends    []ending         // the operations whose paths end here
}

// ending is an operation at the end of its path.
type ending struct {
	mount     *Mount
	operation *Operation
	names     []string // of the parameters, in the order of the path
}

// newRoutes builds the tree of all operations.
func newRoutes(mounts []*Mount) (*routes, error) {
	r := &routes{root: &node{}}
	for _, m := range mounts {
		ids := map[string]bool{}
		operations := m.Surface.Operations()
		for i := range operations {
			op := &operations[i]
			if ids[op.ID] {
				return nil, fmt.Errorf("surface %s has two operations %s", m.Surface.Name(), op.ID)
			}
			ids[op.ID] = true
			if err := r.add(m, op); err != nil {
				return nil, fmt.Errorf("operation %s of surface %s: %w", op.ID, m.Surface.Name(), err)
			}
		}
	}
	return r, nil
}

func (r *routes) add(m *Mount, op *Operation) error {
	if !strings.HasPrefix(op.Path, "/") || op.Handle == nil || op.Method == "" {
		return fmt.Errorf("invalid operation: want a method, a handler and a path that begins with a slash")
	}
	at, names := r.root, []string(nil)
	for segment := range strings.SplitSeq(op.Path[1:], "/") {
		if name, ok := strings.CutPrefix(segment, "{"); ok {
			name, ok = strings.CutSuffix(name, "}")
			if !ok || name == "" || slices.Contains(names, name) {
				return fmt.Errorf("invalid segment %q of path %s", segment, op.Path)
			}
			names = append(names, name)
			if at.param == nil {
				at.param = &node{mount: m}
			}
			at = at.param
			continue
		}
		if at.literal == nil {
			at.literal = map[string]*node{}
		}
		key := strings.ToLower(segment)
		if at.literal[key] == nil {
			at.literal[key] = &node{mount: m}
		}
		at = at.literal[key]
	}
	for _, e := range at.ends {
		if e.operation.Method == op.Method {
			return fmt.Errorf("path %s has two operations for %s", op.Path, op.Method)
		}
	}
	at.ends = append(at.ends, ending{mount: m, operation: op, names: names})
	return nil
}

// match is what a path names.
type match struct {
	mount     *Mount // nil: no surface has paths that begin like this one
	operation *Operation
	path      map[string]string
	allow     []string // the methods of the path; empty if the path is unknown
	fault     string   // what is wrong with the form of the path; there is no operation then
}

// find finds the operation of a request. path is the escaped path.
func (r *routes) find(method, path string) match {
	segments, ok := split(path)
	if !ok {
		return match{}
	}
	s := search{method: method, segments: segments, values: make([]string, 0, 12)}
	s.walk(r.root, 0)
	m := match{mount: s.mount, operation: s.found.operation}
	// Many clients remove segments of dots, and what they send for jobs/.. is the path of the
	// parent with a slash. Neither form may change the parent.
	switch {
	case slices.ContainsFunc(segments, HasDotSegment):
		m.operation, m.fault = nil, "A name in the path is . or .., or has such a part: clients and proxies remove it from paths. Use the name of another resource; rename this one with T-SQL or the command line."
		return m
	case strings.HasSuffix(path, "/") && (method == http.MethodPut || method == http.MethodPatch || method == http.MethodDelete):
		m.operation, m.fault = nil, "The path of a change ends with a slash. Remove the slash, and check that the name of the resource is in the path."
		return m
	}
	if m.operation == nil {
		slices.Sort(s.allow)
		m.allow = slices.Compact(s.allow)
		return m
	}
	m.mount = s.found.mount
	m.path = make(map[string]string, len(s.found.names))
	for i, name := range s.found.names {
		m.path[name] = s.values[i]
	}
	return m
}

// split splits an escaped path into unescaped segments. One slash at the end is left out. An empty
// segment elsewhere, and an invalid escape, make the path unknown.
func split(path string) (segments []string, ok bool) {
	path, ok = strings.CutPrefix(path, "/")
	if !ok {
		return nil, false
	}
	segments = strings.Split(strings.TrimSuffix(path, "/"), "/")
	for i, s := range segments {
		text, err := url.PathUnescape(s)
		if err != nil || text == "" {
			return nil, false
		}
		segments[i] = text
	}
	return segments, true
}

// HasDotSegment reports whether a name would be, or have, a segment of a path that clients remove
// (RFC 3986, 5.2.4; the URL standard also takes \ for /).
func HasDotSegment(name string) bool {
	for part := range strings.FieldsFuncSeq(name, func(r rune) bool { return r == '/' || r == '\\' }) {
		if part == "." || part == ".." {
			return true
		}
	}
	return false
}

// search is one search in the tree.
type search struct {
	method   string
	segments []string
	values   []string // of the parameters on the way
	found    ending
	allow    []string
	deepest  int
	mount    *Mount // of the deepest node on any way
}

// walk searches below a node for the segments from i on, literals first. It returns true when the
// operation was found.
func (s *search) walk(n *node, i int) bool {
	if i >= s.deepest && n.mount != nil {
		// A literal names a surface better than a parameter, and is tried first.
		if i > s.deepest || s.mount == nil {
			s.deepest, s.mount = i, n.mount
		}
	}
	if i == len(s.segments) {
		for _, e := range n.ends {
			if e.operation.Method == s.method {
				s.found = e
				return true
			}
			s.allow = append(s.allow, e.operation.Method)
		}
		return false
	}
	if child := n.literal[strings.ToLower(s.segments[i])]; child != nil && s.walk(child, i+1) {
		return true
	}
	if n.param == nil {
		return false
	}
	s.values = append(s.values, s.segments[i])
	if s.walk(n.param, i+1) {
		return true
	}
	s.values = s.values[:len(s.values)-1]
	return false
}
