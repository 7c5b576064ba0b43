package syntax

// security reads CREATE and ALTER of principals and keys behind the verb.
func (p *parser) security(verb Verb) Stmt {
	switch {
	case p.got("LOGIN"):
		return p.login(verb)
	case p.got("USER"):
		return p.user(verb)
	case p.got("ROLE"):
		return p.role(verb, false)
	case p.got("SERVER", "ROLE"):
		return p.role(verb, true)
	case p.at("MASTER", "KEY"):
		if verb == Create {
			return p.masterKey("CREATE")
		}
		return p.masterKey("ALTER")
	case p.at("SERVICE", "MASTER", "KEY"):
		p.reject("ALTER SERVICE MASTER KEY")
		return nil
	}
	if verb == Create {
		p.kind("CREATE")
	} else {
		p.kind("ALTER")
	}
	return nil
}

// secret reads a password.
func (p *parser) secret() Expr {
	if l := p.literal(); l != nil {
		return l
	}
	p.fail()
	return nil
}

// login reads a login behind LOGIN.
func (p *parser) login(verb Verb) Stmt {
	s := &LoginStmt{Verb: verb, Name: p.ident()}
	switch {
	case verb == Alter && p.got("ENABLE"):
		s.Enable = true
		return s
	case verb == Alter && p.got("DISABLE"):
		s.Disable = true
		return s
	case verb == Alter && p.got("ADD", "CREDENTIAL"):
		s.AddCredential = p.ident()
		return s
	case verb == Alter && p.got("DROP", "CREDENTIAL"):
		s.DropCredential = p.ident()
		return s
	case verb == Create && p.got("FROM"):
		s.From, s.FromName = p.principalSource("WINDOWS")
		if !p.got("WITH") {
			return s
		}
	default:
		p.want("WITH")
	}
	for {
		switch {
		case p.got("PASSWORD", "="):
			s.Password = p.secret()
			for {
				if p.got("HASHED") {
					s.Hashed = true
				} else if p.got("MUST_CHANGE") {
					s.MustChange = true
				} else if p.got("UNLOCK") {
					s.Unlock = true
				} else if p.got("OLD_PASSWORD", "=") {
					s.OldPassword = p.secret()
				} else {
					break
				}
			}
		case p.at("OLD_PASSWORD"): // only behind a password
			p.fail()
		default:
			s.Options = append(s.Options, p.nameOption())
		}
		if !p.got(",") {
			return s
		}
	}
}

// principalSource reads what stands behind FROM of a login or user; more are sources beyond the common ones.
func (p *parser) principalSource(more ...string) (string, Ident) {
	switch {
	case p.got("EXTERNAL", "PROVIDER"):
		return "EXTERNAL PROVIDER", Ident{}
	case p.got("CERTIFICATE"):
		return "CERTIFICATE", p.ident()
	case p.got("ASYMMETRIC", "KEY"):
		return "ASYMMETRIC KEY", p.ident()
	}
	return p.wantAny(more...), Ident{}
}

// nameOption reads "NAME = value" where the value may be a name: it becomes a column reference then.
func (p *parser) nameOption() *Option {
	o := &Option{node: p.here(), Equals: true}
	t := p.tok()
	if t.kind != tokWord {
		p.fail()
		return o
	}
	p.next()
	o.Name = t.up
	p.want("=")
	e := expr{p.here()}
	switch {
	case p.atAny("ON", "OFF"):
		o.Value = &Keyword{expr: e, Name: p.next().up}
	case p.got("NULL"):
		o.Value = &Literal{expr: e, Kind: NullLit}
	case atIdent(p.tok()):
		o.Value = &ColumnRef{expr: e, Parts: []Ident{p.ident()}}
	default:
		o.Value = p.secret()
	}
	return o
}

// user reads a user behind USER.
func (p *parser) user(verb Verb) Stmt {
	s := &UserStmt{Verb: verb, Name: p.ident()}
	switch {
	case verb == Create && p.got("WITHOUT", "LOGIN"):
		s.WithoutLogin = true
	case verb == Create && (p.got("FOR") || p.got("FROM")):
		if p.got("LOGIN") {
			s.Login = p.ident()
		} else {
			s.From, s.FromName = p.principalSource()
		}
	}
	if !p.got("WITH") {
		if verb == Alter {
			p.fail()
		}
		return s
	}
	for {
		switch {
		case p.got("PASSWORD", "="):
			s.Password = p.secret()
			if p.got("OLD_PASSWORD", "=") {
				s.OldPassword = p.secret()
			}
		case p.at("OLD_PASSWORD"):
			p.fail()
		case p.got("LOGIN", "="):
			s.Login = p.ident()
		default:
			s.Options = append(s.Options, p.nameOption())
		}
		if !p.got(",") {
			return s
		}
	}
}

// role reads a role behind ROLE.
func (p *parser) role(verb Verb, server bool) Stmt {
	s := &RoleStmt{Verb: verb, Server: server, Name: p.ident()}
	switch {
	case verb == Create:
		if p.got("AUTHORIZATION") {
			s.Authorization = p.principal()
		}
	case p.got("ADD", "MEMBER"):
		s.AddMember = p.principal()
	case p.got("DROP", "MEMBER"):
		s.DropMember = p.principal()
	default:
		p.want("WITH", "NAME", "=")
		s.NewName = p.ident()
	}
	return s
}

// credential reads a credential behind CREATE or ALTER.
func (p *parser) credential(verb Verb) Stmt {
	s := &CredentialStmt{Verb: verb, Scoped: p.got("DATABASE", "SCOPED")}
	p.want("CREDENTIAL")
	s.Name = p.ident()
	p.want("WITH", "IDENTITY", "=")
	s.Identity = p.secret()
	if p.got(",", "SECRET", "=") || p.got("SECRET", "=") {
		s.Secret = p.secret()
	}
	if p.got("FOR", "CRYPTOGRAPHIC", "PROVIDER") {
		s.Provider = p.ident()
	}
	return s
}

// masterKey reads MASTER KEY and what is done with it.
func (p *parser) masterKey(action string) Stmt {
	p.want("MASTER", "KEY")
	s := &MasterKeyStmt{Action: action}
	switch action {
	case "CREATE":
		if p.got("ENCRYPTION", "BY", "PASSWORD", "=") {
			s.Password = p.secret()
		}
	case "OPEN":
		p.want("DECRYPTION", "BY", "PASSWORD", "=")
		s.Password = p.secret()
	case "ALTER":
		switch {
		case p.got("FORCE", "REGENERATE"):
			s.Detail = "FORCE REGENERATE"
		case p.got("REGENERATE"):
			s.Detail = "REGENERATE"
		default:
			s.Detail = p.wantAny("ADD", "DROP") + " ENCRYPTION BY "
			p.want("ENCRYPTION", "BY")
			if p.got("SERVICE", "MASTER", "KEY") {
				s.Detail += "SERVICE MASTER KEY"
				return s
			}
			s.Detail += "PASSWORD"
			p.want("PASSWORD", "=")
			s.Password = p.secret()
			return s
		}
		p.want("WITH", "ENCRYPTION", "BY", "PASSWORD", "=")
		s.Password = p.secret()
	}
	return s
}

// permission reads GRANT, DENY and REVOKE.
func (p *parser) permission() Stmt {
	s := &PermissionStmt{Action: p.next().up}
	s.GrantOptionFor = s.Action == "REVOKE" && p.got("GRANT", "OPTION", "FOR")
	for {
		perm := &Permission{node: p.here()}
		for p.tok().kind == tokWord && !p.atAny("ON", "TO", "FROM") {
			if perm.Name != "" {
				perm.Name += " "
			}
			perm.Name += p.next().up
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
		if !p.got(",") {
			break
		}
	}
	if p.got("ON") {
		s.Class = p.securable()
		s.On = p.securableName(s.Class)
		s.Columns = p.optionalIdentList()
	}
	if s.Action == "REVOKE" {
		p.wantAny("TO", "FROM")
	} else {
		p.want("TO")
	}
	s.To = []Ident{p.principal()}
	for p.got(",") {
		s.To = append(s.To, p.principal())
	}
	if s.Action == "GRANT" {
		s.WithGrantOption = p.got("WITH", "GRANT", "OPTION")
	} else {
		s.Cascade = p.got("CASCADE")
	}
	if p.got("AS") {
		s.As = p.principal()
	}
	return s
}

// securable reads the class before ::; "" if there is none.
func (p *parser) securable() string {
	n := 0
	for p.ahead(n).kind == tokWord {
		n++
	}
	if n == 0 || !p.ahead(n).is("::") {
		return ""
	}
	class := p.next().up
	for !p.at("::") {
		class += " " + p.next().up
	}
	p.next()
	return class
}

// securableName reads the name of a securable; that of a role may be PUBLIC.
func (p *parser) securableName(class string) *ObjectName {
	if class == "ROLE" {
		n := p.here()
		return &ObjectName{node: n, Parts: []Ident{p.principal()}}
	}
	return p.objectName()
}

// alterAuthorization reads ALTER AUTHORIZATION behind AUTHORIZATION.
func (p *parser) alterAuthorization() Stmt {
	p.want("ON")
	s := &AlterAuthorizationStmt{Class: p.securable()}
	s.Name = p.securableName(s.Class)
	p.want("TO")
	if p.got("SCHEMA", "OWNER") {
		s.SchemaOwner = true
		return s
	}
	s.Principal = p.principal()
	return s
}
