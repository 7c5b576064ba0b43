package session

import (
	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
)

// Place returns the database of a name. Names of four parts are not supported.
func (s *Session) Place(n *syntax.ObjectName) (*catalog.Database, error) {
	if n.Server() != "" {
		return nil, mserr.NotSupported("the linked server %s", n.Server())
	}
	if catalog.IsGlobalTemp(n.Last()) {
		return s.DatabaseByID(catalog.DatabaseTemp), nil
	}
	return s.Usable(n.Database())
}

// SplitName parses a name in a string argument of a system procedure. An invalid name becomes the
// name of an object that does not exist.
func SplitName(text string) *syntax.ObjectName {
	if n, err := syntax.ParseName(text); err == nil {
		return n
	}
	return &syntax.ObjectName{Parts: []syntax.Ident{{Name: text, Quoted: true}}}
}

// EqualNames reports whether two identifiers are equal.
func EqualNames(a, b string) bool { return a == b || catalog.Fold(a) == catalog.Fold(b) }
