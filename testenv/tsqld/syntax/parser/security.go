package parser

import (
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/scanner"
)

// security reads CREATE and ALTER of principals and keys, after the verb.
func (p *parser) security(verb syntax.Verb) syntax.Stmt {
	switch {
	case p.accept("LOGIN"):
		return p.login(verb)
	case p.accept("USER"):
		return p.user(verb)
	case p.accept("ROLE"):
		return p.role(verb, false)
	case p.accept("SERVER", "ROLE"):
		return p.role(verb, true)
	case p.at("MASTER", "KEY"):
		if verb == syntax.Create {
			return p.masterKey("CREATE")
		}
		return p.masterKey("ALTER")
	case p.at("SERVICE", "MASTER", "KEY"):
		p.reject("ALTER SERVICE MASTER KEY")
		return nil
	}
	if verb == syntax.Create {
		p.rejectKind("CREATE")
	} else {
		p.rejectKind("ALTER")
	}
	return nil
}

// secret reads a password.
func (p *parser) secret() syntax.Expr {
	if l := p.literal(); l != nil {
		return l
	}
	p.fail()
	return nil
}

// login reads a login after LOGIN.
func (p *parser) login(verb syntax.Verb) syntax.Stmt {
	s := &syntax.LoginStmt{Verb: verb, Name: p.ident()}
	switch {
	case verb == syntax.Alter && p.accept("ENABLE"):
		s.Enable = true
		return s
	case verb == syntax.Alter && p.accept("DISABLE"):
		s.Disable = true
		return s
	case verb == syntax.Alter && p.accept("ADD", "CREDENTIAL"):
		s.AddCredential = p.ident()
		return s
	case verb == syntax.Alter && p.accept("DROP", "CREDENTIAL"):
		s.DropCredential = p.ident()
		return s
	case verb == syntax.Create && p.accept("FROM"):
		s.From, s.FromName = p.principalSource("WINDOWS")
		if !p.accept("WITH") {
			return s
		}
	default:
		p.expect("WITH")
	}
	for {
		switch {
		case p.accept("PASSWORD", "="):
			s.Password = p.secret()
			for {
				if p.accept("HASHED") {
					s.Hashed = true
				} else if p.accept("MUST_CHANGE") {
					s.MustChange = true
				} else if p.accept("UNLOCK") {
					s.Unlock = true
				} else if p.accept("OLD_PASSWORD", "=") {
					s.OldPassword = p.secret()
				} else {
					break
				}
			}
		case p.at("OLD_PASSWORD"): // allowed after a password only
			p.fail()
		default:
			s.Options = append(s.Options, p.nameOption())
		}
		if !p.accept(",") {
			return s
		}
	}
}

// principalSource reads the source of a login or user after FROM. more are sources in addition to
// the common ones.
func (p *parser) principalSource(more ...string) (string, syntax.Ident) {
	switch {
	case p.accept("EXTERNAL", "PROVIDER"):
		return "EXTERNAL PROVIDER", syntax.Ident{}
	case p.accept("CERTIFICATE"):
		return "CERTIFICATE", p.ident()
	case p.accept("ASYMMETRIC", "KEY"):
		return "ASYMMETRIC KEY", p.ident()
	}
	return p.expectAny(more...), syntax.Ident{}
}

// nameOption reads "NAME = value". A value that is a name becomes a column reference.
func (p *parser) nameOption() *syntax.Option {
	o := &syntax.Option{At: p.here(), Equals: true}
	t := p.current()
	if t.Kind != scanner.Word {
		p.fail()
		return o
	}
	p.next()
	o.Name = t.Upper
	p.expect("=")
	e := p.here()
	switch {
	case p.atAny("ON", "OFF"):
		o.Value = &syntax.Keyword{At: e, Name: p.next().Upper}
	case p.accept("NULL"):
		o.Value = &syntax.Literal{At: e, Kind: syntax.NullLit}
	case p.current().IsName():
		o.Value = &syntax.ColumnRef{At: e, Parts: []syntax.Ident{p.ident()}}
	default:
		o.Value = p.secret()
	}
	return o
}

// user reads a user after USER.
func (p *parser) user(verb syntax.Verb) syntax.Stmt {
	s := &syntax.UserStmt{Verb: verb, Name: p.ident()}
	switch {
	case verb == syntax.Create && p.accept("WITHOUT", "LOGIN"):
		s.WithoutLogin = true
	case verb == syntax.Create && (p.accept("FOR") || p.accept("FROM")):
		if p.accept("LOGIN") {
			s.Login = p.ident()
		} else {
			s.From, s.FromName = p.principalSource()
		}
	}
	if !p.accept("WITH") {
		if verb == syntax.Alter {
			p.fail()
		}
		return s
	}
	for {
		switch {
		case p.accept("PASSWORD", "="):
			s.Password = p.secret()
			if p.accept("OLD_PASSWORD", "=") {
				s.OldPassword = p.secret()
			}
		case p.at("OLD_PASSWORD"):
			p.fail()
		case p.accept("LOGIN", "="):
			s.Login = p.ident()
		default:
			s.Options = append(s.Options, p.nameOption())
		}
		if !p.accept(",") {
			return s
		}
	}
}

// role reads a role after ROLE.
func (p *parser) role(verb syntax.Verb, server bool) syntax.Stmt {
	s := &syntax.RoleStmt{Verb: verb, Server: server, Name: p.ident()}
	switch {
	case verb == syntax.Create:
		if p.accept("AUTHORIZATION") {
			s.Authorization = p.principal()
		}
	case p.accept("ADD", "MEMBER"):
		s.AddMember = p.principal()
	case p.accept("DROP", "MEMBER"):
		s.DropMember = p.principal()
	default:
		p.expect("WITH", "NAME", "=")
		s.NewName = p.ident()
	}
	return s
}

// credential reads a credential after CREATE or ALTER.
func (p *parser) credential(verb syntax.Verb) syntax.Stmt {
	s := &syntax.CredentialStmt{Verb: verb, Scoped: p.accept("DATABASE", "SCOPED")}
	p.expect("CREDENTIAL")
	s.Name = p.ident()
	p.expect("WITH", "IDENTITY", "=")
	s.Identity = p.secret()
	if p.accept(",", "SECRET", "=") || p.accept("SECRET", "=") {
		s.Secret = p.secret()
	}
	if p.accept("FOR", "CRYPTOGRAPHIC", "PROVIDER") {
		s.Provider = p.ident()
	}
	return s
}

// masterKey reads a statement on the master key, from MASTER KEY on.
func (p *parser) masterKey(action string) syntax.Stmt {
	p.expect("MASTER", "KEY")
	s := &syntax.MasterKeyStmt{Action: action}
	switch action {
	case "CREATE":
		if p.accept("ENCRYPTION", "BY", "PASSWORD", "=") {
			s.Password = p.secret()
		}
	case "OPEN":
		p.expect("DECRYPTION", "BY", "PASSWORD", "=")
		s.Password = p.secret()
	case "ALTER":
		switch {
		case p.accept("FORCE", "REGENERATE"):
			s.Detail = "FORCE REGENERATE"
		case p.accept("REGENERATE"):
			s.Detail = "REGENERATE"
		default:
			s.Detail = p.expectAny("ADD", "DROP") + " ENCRYPTION BY "
			p.expect("ENCRYPTION", "BY")
			if p.accept("SERVICE", "MASTER", "KEY") {
				s.Detail += "SERVICE MASTER KEY"
				return s
			}
			s.Detail += "PASSWORD"
			p.expect("PASSWORD", "=")
			s.Password = p.secret()
			return s
		}
		p.expect("WITH", "ENCRYPTION", "BY", "PASSWORD", "=")
		s.Password = p.secret()
	}
	return s
}

// permission reads GRANT, DENY and REVOKE.
func (p *parser) permission() syntax.Stmt {
	s := &syntax.PermissionStmt{Action: p.next().Upper}
	s.GrantOptionFor = s.Action == "REVOKE" && p.accept("GRANT", "OPTION", "FOR")
	for {
		perm := &syntax.Permission{At: p.here()}
		for p.current().Kind == scanner.Word && !p.atAny("ON", "TO", "FROM") {
			if perm.Name != "" {
				perm.Name += " "
			}
			perm.Name += p.next().Upper
		}
		if perm.Name == "" {
			p.fail()
			return nil
		}
		switch perm.Name {
		case "ALL PRIVILEGES":
			perm.Name = "ALL"
		case "EXEC":
			perm.Name = "EXECUTE"
		}
		perm.Columns = p.optionalIdentList()
		s.Permissions = append(s.Permissions, perm)
		if !p.accept(",") {
			break
		}
	}
	if p.accept("ON") {
		s.Class = p.securable()
		s.On = p.securableName(s.Class)
		s.Columns = p.optionalIdentList()
	}
	if s.Action == "REVOKE" {
		p.expectAny("TO", "FROM")
	} else {
		p.expect("TO")
	}
	s.To = []syntax.Ident{p.principal()}
	for p.accept(",") {
		s.To = append(s.To, p.principal())
	}
	if s.Action == "GRANT" {
		s.WithGrantOption = p.accept("WITH", "GRANT", "OPTION")
	} else {
		s.Cascade = p.accept("CASCADE")
	}
	if p.accept("AS") {
		s.As = p.principal()
	}
	return s
}

// securable reads the class before ::; it returns "" if there is none.
func (p *parser) securable() string {
	n := 0
	for p.peek(n).Kind == scanner.Word {
		n++
	}
	if n == 0 || !p.peek(n).Is("::") {
		return ""
	}
	class := p.next().Upper
	for !p.at("::") {
		class += " " + p.next().Upper
	}
	p.next()
	return class
}

// securableName reads the name of a securable. The name of a role may be PUBLIC.
func (p *parser) securableName(class string) *syntax.ObjectName {
	if class == "ROLE" {
		n := p.here()
		return &syntax.ObjectName{At: n, Parts: []syntax.Ident{p.principal()}}
	}
	return p.objectName()
}

// alterAuthorization reads ALTER AUTHORIZATION after AUTHORIZATION.
func (p *parser) alterAuthorization() syntax.Stmt {
	p.expect("ON")
	s := &syntax.AlterAuthorizationStmt{Class: p.securable()}
	s.Name = p.securableName(s.Class)
	p.expect("TO")
	if p.accept("SCHEMA", "OWNER") {
		s.SchemaOwner = true
		return s
	}
	s.Principal = p.principal()
	return s
}
