package security

import (
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser/query"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser/term"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser/tokens"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/scanner"
)

// Define reads CREATE and ALTER of principals and keys, after the verb; false if the next word is
// none of these.
func Define(c *tokens.Cursor, verb syntax.Verb) (syntax.Stmt, bool) {
	switch {
	case c.Accept("LOGIN"):
		return login(c, verb), true
	case c.Accept("USER"):
		return user(c, verb), true
	case c.Accept("ROLE"):
		return role(c, verb, false), true
	case c.Accept("SERVER", "ROLE"):
		return role(c, verb, true), true
	case c.At("DATABASE", "SCOPED", "CREDENTIAL"), c.At("CREDENTIAL"):
		return credential(c, verb), true
	case c.At("MASTER", "KEY"):
		return MasterKey(c, verb.String()), true
	case c.At("SERVICE", "MASTER", "KEY"):
		c.Reject("ALTER SERVICE MASTER KEY")
		return nil, true
	case verb == syntax.Alter && c.Accept("AUTHORIZATION"):
		return alterAuthorization(c), true
	}
	return nil, false
}

// ExecuteAs reads EXECUTE AS.
func ExecuteAs(c *tokens.Cursor) syntax.Stmt {
	c.Next()
	c.Expect("AS")
	s := &syntax.ExecuteAsStmt{}
	if c.Accept("CALLER") {
		s.Caller = true
	} else {
		s.Login = c.ExpectAny("USER", "LOGIN") == "LOGIN"
		c.Expect("=")
		s.Name = query.Expr(c)
	}
	if c.Accept("WITH") {
		if s.NoRevert = c.Accept("NO", "REVERT"); !s.NoRevert {
			c.Expect("COOKIE", "INTO")
			term.Variable(c)
			c.Unsupported("EXECUTE AS WITH COOKIE")
		}
	}
	return s
}

// login reads a login after LOGIN.
func login(c *tokens.Cursor, verb syntax.Verb) syntax.Stmt {
	s := &syntax.LoginStmt{Verb: verb, Name: term.Ident(c)}
	switch {
	case verb == syntax.Alter && c.Accept("ENABLE"):
		s.Enable = true
		return s
	case verb == syntax.Alter && c.Accept("DISABLE"):
		s.Disable = true
		return s
	case verb == syntax.Alter && (c.Accept("ADD", "CREDENTIAL") || c.Accept("DROP", "CREDENTIAL")):
		term.Ident(c)
		c.Unsupported("a credential of a login")
		return s
	case verb == syntax.Create && c.Accept("FROM"):
		if s.Windows = c.Accept("WINDOWS"); !s.Windows {
			principalSource(c, "a login")
		}
		if !c.Accept("WITH") {
			return s
		}
	default:
		c.Expect("WITH")
	}
	for ok := true; ok; ok = c.Accept(",") {
		switch {
		case c.Accept("PASSWORD", "="):
			loginPassword(c, s)
		case c.At("OLD_PASSWORD"): // allowed after a password only
			c.Fail()
		default:
			s.Options = append(s.Options, nameOption(c))
		}
	}
	return s
}

// loginPassword reads a password and the words after it.
func loginPassword(c *tokens.Cursor, s *syntax.LoginStmt) {
	s.Password = term.Constant(c)
	for {
		switch {
		case c.Accept("HASHED"):
			c.Unsupported("PASSWORD ... HASHED")
		case c.Accept("MUST_CHANGE"):
			s.MustChange = true
		case c.Accept("UNLOCK"):
			s.Unlock = true
		case c.Accept("OLD_PASSWORD", "="):
			s.OldPassword = term.Constant(c)
		default:
			return
		}
	}
}

// principalSource reads an unsupported source of a login or user after FROM.
func principalSource(c *tokens.Cursor, principal string) {
	switch {
	case c.Accept("EXTERNAL", "PROVIDER"):
		c.Unsupported(principal + " FROM EXTERNAL PROVIDER")
	case c.Accept("CERTIFICATE"):
		term.Ident(c)
		c.Unsupported(principal + " FROM CERTIFICATE")
	case c.Accept("ASYMMETRIC", "KEY"):
		term.Ident(c)
		c.Unsupported(principal + " FROM ASYMMETRIC KEY")
	default:
		c.Fail()
	}
}

// nameOption reads "NAME = value". A value that is a name becomes a column reference.
func nameOption(c *tokens.Cursor) *syntax.Option {
	o := &syntax.Option{At: c.Here(), Equals: true}
	t := c.Current()
	if t.Kind != scanner.Word {
		c.Fail()
		return o
	}
	c.Next()
	o.Name = t.Upper
	c.Expect("=")
	e := c.Here()
	switch {
	case c.AtAny("ON", "OFF"):
		o.Value = &syntax.Keyword{At: e, Name: c.Next().Upper}
	case c.Accept("NULL"):
		o.Value = &syntax.Literal{At: e, Kind: syntax.NullLit}
	case c.Current().IsName():
		o.Value = &syntax.ColumnRef{At: e, Parts: []syntax.Ident{term.Ident(c)}}
	default:
		o.Value = term.Constant(c)
	}
	return o
}

// user reads a user after USER.
func user(c *tokens.Cursor, verb syntax.Verb) syntax.Stmt {
	s := &syntax.UserStmt{Verb: verb, Name: term.Ident(c)}
	switch {
	case verb == syntax.Create && c.Accept("WITHOUT", "LOGIN"):
		s.WithoutLogin = true
	case verb == syntax.Create && (c.Accept("FOR") || c.Accept("FROM")):
		if c.Accept("LOGIN") {
			s.Login = term.Ident(c)
		} else {
			principalSource(c, "a user")
		}
	}
	if !c.Accept("WITH") {
		if verb == syntax.Alter {
			c.Fail()
		}
		return s
	}
	for ok := true; ok; ok = c.Accept(",") {
		switch {
		case c.Accept("PASSWORD", "="):
			s.Password = term.Constant(c)
			if c.Accept("OLD_PASSWORD", "=") {
				s.OldPassword = term.Constant(c)
			}
		case c.At("OLD_PASSWORD"):
			c.Fail()
		case c.Accept("LOGIN", "="):
			s.Login = term.Ident(c)
		default:
			s.Options = append(s.Options, nameOption(c))
		}
	}
	return s
}

// role reads a role after ROLE.
func role(c *tokens.Cursor, verb syntax.Verb, server bool) syntax.Stmt {
	s := &syntax.RoleStmt{Verb: verb, Server: server, Name: term.Ident(c)}
	if server && (verb == syntax.Create || c.At("WITH")) {
		c.Unsupported("a user-defined server role")
	}
	switch {
	case verb == syntax.Create:
		if c.Accept("AUTHORIZATION") {
			s.Authorization = term.Principal(c)
		}
	case c.Accept("ADD", "MEMBER"):
		s.AddMember = term.Principal(c)
	case c.Accept("DROP", "MEMBER"):
		s.DropMember = term.Principal(c)
	default:
		c.Expect("WITH", "NAME", "=")
		s.NewName = term.Ident(c)
	}
	return s
}

// credential reads a credential after CREATE or ALTER.
func credential(c *tokens.Cursor, verb syntax.Verb) syntax.Stmt {
	s := &syntax.CredentialStmt{Verb: verb}
	if !c.Accept("DATABASE", "SCOPED") {
		c.Unsupported("a credential of the server")
	}
	c.Expect("CREDENTIAL")
	s.Name = term.Ident(c)
	c.Expect("WITH", "IDENTITY", "=")
	s.Identity = term.Constant(c)
	if c.Accept(",", "SECRET", "=") || c.Accept("SECRET", "=") {
		s.Secret = term.Constant(c)
	}
	if c.Accept("FOR", "CRYPTOGRAPHIC", "PROVIDER") {
		term.Ident(c)
		c.Unsupported("a cryptographic provider")
	}
	return s
}

// MasterKey reads a statement on the master key, from MASTER KEY on. It has no effect, because
// secrets are not stored.
func MasterKey(c *tokens.Cursor, action string) syntax.Stmt {
	c.Expect("MASTER", "KEY")
	switch action {
	case "CREATE":
		if !c.At("ENCRYPTION") {
			return &syntax.NoEffectStmt{}
		}
	case "OPEN":
		c.Expect("DECRYPTION", "BY", "PASSWORD", "=")
		term.Constant(c)
		return &syntax.NoEffectStmt{}
	case "ALTER":
		if c.AcceptAny("ADD", "DROP") != "" {
			if c.Accept("ENCRYPTION", "BY", "SERVICE", "MASTER", "KEY") {
				return &syntax.NoEffectStmt{}
			}
			break
		}
		c.Accept("FORCE")
		c.Expect("REGENERATE", "WITH")
	default:
		return &syntax.NoEffectStmt{}
	}
	c.Expect("ENCRYPTION", "BY", "PASSWORD", "=")
	term.Constant(c)
	return &syntax.NoEffectStmt{}
}
