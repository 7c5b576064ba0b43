package syntax

import "strings"

// security writes statements about principals, keys and permissions.
func (w *printer) security(s Stmt) {
	switch s := s.(type) {
	case *LoginStmt:
		w.login(s)
	case *UserStmt:
		w.user(s)
	case *RoleStmt:
		w.verb(s.Verb)
		w.when(s.Server, "SERVER ")
		w.w("ROLE ")
		w.ident(s.Name)
		for _, x := range []struct {
			before string
			id     Ident
		}{{" AUTHORIZATION ", s.Authorization}, {" ADD MEMBER ", s.AddMember}, {" DROP MEMBER ", s.DropMember}, {" WITH NAME = ", s.NewName}} {
			if x.id.Name != "" {
				w.w(x.before)
				w.principal(x.id)
			}
		}
	case *CredentialStmt:
		w.verb(s.Verb)
		w.when(s.Scoped, "DATABASE SCOPED ")
		w.w("CREDENTIAL ")
		w.ident(s.Name)
		w.optional(" WITH IDENTITY = ", s.Identity)
		w.optional(", SECRET = ", s.Secret)
		w.named(" FOR CRYPTOGRAPHIC PROVIDER ", s.Provider)
	case *MasterKeyStmt:
		w.masterKey(s)
	case *PermissionStmt:
		w.permissions(s)
	case *AlterAuthorizationStmt:
		w.w("ALTER AUTHORIZATION ON ")
		w.securable(s.Class, s.Name)
		w.w(" TO ")
		w.when(s.SchemaOwner, "SCHEMA OWNER")
		w.principal(s.Principal)
	default:
		w.admin(s)
	}
}

// admin writes statements about sessions and the server.
func (w *printer) admin(s Stmt) {
	switch s := s.(type) {
	case *ExecuteAsStmt:
		w.w("EXECUTE AS ")
		switch {
		case s.Caller:
			w.w("CALLER")
		case s.Login:
			w.w("LOGIN")
		default:
			w.w("USER")
		}
		w.optional(" = ", s.Name)
		w.when(s.NoRevert, " WITH NO REVERT")
		w.when(s.Cookie != "", " WITH COOKIE INTO ", s.Cookie)
	case *RevertStmt:
		w.w("REVERT")
		w.optional(" WITH COOKIE = ", s.Cookie)
	case *DBCCStmt:
		w.w("DBCC ", s.Command)
		if s.Args != nil {
			w.w(" (")
			list(w, s.Args, func(x Expr) {
				if c, ok := x.(*ColumnRef); ok && len(c.Parts) == 1 && !c.Parts[0].Quoted { // words may be keywords
					w.w(c.Parts[0].Name)
					return
				}
				w.expr(x)
			})
			w.w(")")
		}
		w.bareOptions(" WITH ", s.Options)
	case *CheckpointStmt:
		w.w("CHECKPOINT")
		w.optional(" ", s.Duration)
	case *ReconfigureStmt:
		w.w("RECONFIGURE")
		w.when(s.Override, " WITH OVERRIDE")
	case *KillStmt:
		w.w("KILL ")
		w.expr(s.Session)
		w.when(s.StatusOnly, " WITH STATUSONLY")
	case *ShutdownStmt:
		w.w("SHUTDOWN")
		w.when(s.NoWait, " WITH NOWAIT")
	}
}

// withItems writes WITH and items that are there.
func (w *printer) withItems(items []func()) {
	for i, write := range items {
		w.w(map[bool]string{true: " WITH ", false: ", "}[i == 0])
		write()
	}
}

// login writes CREATE and ALTER LOGIN.
func (w *printer) login(s *LoginStmt) {
	w.verb(s.Verb)
	w.w("LOGIN ")
	w.ident(s.Name)
	w.when(s.Enable, " ENABLE")
	w.when(s.Disable, " DISABLE")
	w.named(" ADD CREDENTIAL ", s.AddCredential)
	w.named(" DROP CREDENTIAL ", s.DropCredential)
	w.when(s.From != "", " FROM ", s.From)
	w.named(" ", s.FromName)
	var items []func()
	if s.Password != nil {
		items = append(items, func() {
			w.optional("PASSWORD = ", s.Password)
			w.when(s.Hashed, " HASHED")
			w.when(s.MustChange, " MUST_CHANGE")
			w.when(s.Unlock, " UNLOCK")
			w.optional(" OLD_PASSWORD = ", s.OldPassword)
		})
	}
	w.withItems(w.addOptions(items, s.Options))
}

// addOptions puts options behind items.
func (w *printer) addOptions(items []func(), options []*Option) []func() {
	for _, o := range options {
		items = append(items, func() { w.option(o) })
	}
	return items
}

// user writes CREATE and ALTER USER.
func (w *printer) user(s *UserStmt) {
	w.verb(s.Verb)
	w.w("USER ")
	w.ident(s.Name)
	w.when(s.WithoutLogin, " WITHOUT LOGIN")
	if s.Verb == Create {
		w.named(" FOR LOGIN ", s.Login)
	}
	w.when(s.From != "", " FROM ", s.From)
	w.named(" ", s.FromName)
	var items []func()
	if s.Password != nil {
		items = append(items, func() {
			w.optional("PASSWORD = ", s.Password)
			w.optional(" OLD_PASSWORD = ", s.OldPassword)
		})
	}
	if s.Verb == Alter && s.Login.Name != "" {
		items = append(items, func() { w.named("LOGIN = ", s.Login) })
	}
	w.withItems(w.addOptions(items, s.Options))
}

// masterKey writes statements about the master key.
func (w *printer) masterKey(s *MasterKeyStmt) {
	w.w(s.Action, " MASTER KEY")
	w.when(s.Detail != "", " ", s.Detail)
	if s.Password == nil {
		return
	}
	switch {
	case s.Action == "OPEN":
		w.w(" DECRYPTION BY PASSWORD")
	case strings.HasSuffix(s.Detail, "REGENERATE"):
		w.w(" WITH ENCRYPTION BY PASSWORD")
	case s.Action == "CREATE":
		w.w(" ENCRYPTION BY PASSWORD")
	}
	w.optional(" = ", s.Password)
}

// permission writes a permission.
func (w *printer) permission(p *Permission) {
	w.w(p.Name)
	w.idents(p.Columns)
}

// securable writes what a permission is on.
func (w *printer) securable(class string, name *ObjectName) {
	w.when(class != "", class, "::")
	if class == "ROLE" && len(name.Parts) == 1 {
		w.principal(name.Parts[0])
		return
	}
	w.name(name)
}

// permissions writes GRANT, DENY and REVOKE.
func (w *printer) permissions(s *PermissionStmt) {
	w.w(s.Action, " ")
	w.when(s.GrantOptionFor, "GRANT OPTION FOR ")
	nodes(w, s.Permissions)
	if s.On != nil {
		w.w(" ON ")
		w.securable(s.Class, s.On)
		w.idents(s.Columns)
	}
	w.w(map[bool]string{true: " FROM ", false: " TO "}[s.Action == "REVOKE"])
	list(w, s.To, w.principal)
	w.when(s.WithGrantOption, " WITH GRANT OPTION")
	w.when(s.Cascade, " CASCADE")
	if s.As.Name != "" {
		w.w(" AS ")
		w.principal(s.As)
	}
}
