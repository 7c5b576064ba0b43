package security

import (
	"slices"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser/term"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser/tokens"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/scanner"
)

// Permission reads GRANT, DENY and REVOKE.
func Permission(c *tokens.Cursor) syntax.Stmt {
	s := &syntax.PermissionStmt{Action: c.Next().Upper}
	s.GrantOptionFor = s.Action == "REVOKE" && c.Accept("GRANT", "OPTION", "FOR")
	s.Permissions = tokens.List(c, permissionName)
	if c.Accept("ON") {
		s.Class = securable(c)
		s.On = securableName(c, s.Class)
		columns(c)
	}
	if s.Action == "REVOKE" {
		c.ExpectAny("TO", "FROM")
	} else {
		c.Expect("TO")
	}
	s.To = tokens.List(c, term.Principal)
	if s.Action == "GRANT" {
		s.WithGrantOption = c.Accept("WITH", "GRANT", "OPTION")
	} else {
		s.Cascade = c.Accept("CASCADE")
	}
	if c.Accept("AS") {
		term.Principal(c)
		c.Unsupported(s.Action + " ... AS")
	}
	return s
}

// columns reads an optional list of columns, to which a permission is limited.
func columns(c *tokens.Cursor) {
	if term.OptionalIdents(c) != nil {
		c.Unsupported("a permission on a column")
	}
}

// permissionName reads a permission with its columns, and returns its name.
func permissionName(c *tokens.Cursor) string {
	var words []string
	for c.AtKind(scanner.Word) && !c.AtAny("ON", "TO", "FROM") {
		words = append(words, c.Next().Upper)
	}
	columns(c)
	switch name := strings.Join(words, " "); name {
	case "":
		c.Fail()
	case "ALL PRIVILEGES":
		return "ALL"
	case "EXEC":
		return "EXECUTE"
	default:
		return name
	}
	return ""
}

// securable reads the class before ::; it returns "" if there is none.
func securable(c *tokens.Cursor) string {
	n := 0
	for c.Peek(n).Kind == scanner.Word {
		n++
	}
	if n == 0 || !c.Peek(n).Is("::") {
		return ""
	}
	class := c.Next().Upper
	for !c.At("::") {
		class += " " + c.Next().Upper
	}
	c.Next()
	return class
}

// securableName reads the name of a securable. The name of a role may be PUBLIC.
func securableName(c *tokens.Cursor, class string) *syntax.ObjectName {
	if class == "ROLE" {
		return &syntax.ObjectName{At: c.Here(), Parts: []syntax.Ident{term.Principal(c)}}
	}
	return term.Name(c)
}

// alterAuthorization reads ALTER AUTHORIZATION after AUTHORIZATION.
func alterAuthorization(c *tokens.Cursor) syntax.Stmt {
	c.Expect("ON")
	s := &syntax.AlterAuthorizationStmt{Class: securable(c)}
	s.Name = securableName(c, s.Class)
	if !slices.Contains([]string{"", "DATABASE", "OBJECT", "ROLE", "SCHEMA"}, s.Class) {
		c.Unsupported("ALTER AUTHORIZATION ON " + s.Class)
	}
	c.Expect("TO")
	if c.Accept("SCHEMA", "OWNER") {
		s.SchemaOwner = true
		return s
	}
	s.Principal = term.Principal(c)
	return s
}
