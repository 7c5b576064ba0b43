package printer

import (
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"strings"
)

// security writes statements about principals, keys and permissions.
func (w *printer) security(s syntax.Stmt) {
	switch s := s.(type) {
	case *syntax.LoginStmt:
		w.login(s)
	case *syntax.UserStmt:
		w.user(s)
	case *syntax.RoleStmt:
		w.verb(s.Verb)
		w.textIf(s.Server, "SERVER ")
		w.text("ROLE ")
		w.ident(s.Name)
		for _, x := range []struct {
			before string
			id     syntax.Ident
		}{
			{" AUTHORIZATION ", s.Authorization},
			{" ADD MEMBER ", s.AddMember},
			{" DROP MEMBER ", s.DropMember},
			{" WITH NAME = ", s.NewName},
		} {
			if x.id.Name != "" {
				w.text(x.before)
				w.principal(x.id)
			}
		}
	case *syntax.CredentialStmt:
		w.verb(s.Verb)
		w.textIf(s.Scoped, "DATABASE SCOPED ")
		w.text("CREDENTIAL ")
		w.ident(s.Name)
		w.optional(" WITH IDENTITY = ", s.Identity)
		w.optional(", SECRET = ", s.Secret)
		w.named(" FOR CRYPTOGRAPHIC PROVIDER ", s.Provider)
	case *syntax.MasterKeyStmt:
		w.masterKey(s)
	case *syntax.PermissionStmt:
		w.permissions(s)
	case *syntax.AlterAuthorizationStmt:
		w.text("ALTER AUTHORIZATION ON ")
		w.securable(s.Class, s.Name)
		w.text(" TO ")
		w.textIf(s.SchemaOwner, "SCHEMA OWNER")
		w.principal(s.Principal)
	default:
		w.admin(s)
	}
}

// admin writes statements about sessions and the server.
func (w *printer) admin(s syntax.Stmt) {
	switch s := s.(type) {
	case *syntax.ExecuteAsStmt:
		w.text("EXECUTE AS ")
		switch {
		case s.Caller:
			w.text("CALLER")
		case s.Login:
			w.text("LOGIN")
		default:
			w.text("USER")
		}
		w.optional(" = ", s.Name)
		w.textIf(s.NoRevert, " WITH NO REVERT")
		w.textIf(s.Cookie != "", " WITH COOKIE INTO ", s.Cookie)
	case *syntax.RevertStmt:
		w.text("REVERT")
		w.optional(" WITH COOKIE = ", s.Cookie)
	case *syntax.DBCCStmt:
		w.text("DBCC ", s.Command)
		if s.Args != nil {
			w.text(" (")
			writeList(w, s.Args, func(x syntax.Expr) {
				if c, ok := x.(*syntax.ColumnRef); ok && len(c.Parts) == 1 && !c.Parts[0].Quoted { // words may be keywords
					w.text(c.Parts[0].Name)
					return
				}
				w.expr(x)
			})
			w.text(")")
		}
		w.bareOptions(" WITH ", s.Options)
	case *syntax.CheckpointStmt:
		w.text("CHECKPOINT")
		w.optional(" ", s.Duration)
	case *syntax.ReconfigureStmt:
		w.text("RECONFIGURE")
		w.textIf(s.Override, " WITH OVERRIDE")
	case *syntax.KillStmt:
		w.text("KILL ")
		w.expr(s.Session)
		w.textIf(s.StatusOnly, " WITH STATUSONLY")
	case *syntax.ShutdownStmt:
		w.text("SHUTDOWN")
		w.textIf(s.NoWait, " WITH NOWAIT")
	}
}

// withItems writes WITH and the items, if any.
func (w *printer) withItems(items []func()) {
	for i, write := range items {
		w.text(map[bool]string{true: " WITH ", false: ", "}[i == 0])
		write()
	}
}

// login writes CREATE and ALTER LOGIN.
func (w *printer) login(s *syntax.LoginStmt) {
	w.verb(s.Verb)
	w.text("LOGIN ")
	w.ident(s.Name)
	w.textIf(s.Enable, " ENABLE")
	w.textIf(s.Disable, " DISABLE")
	w.named(" ADD CREDENTIAL ", s.AddCredential)
	w.named(" DROP CREDENTIAL ", s.DropCredential)
	w.textIf(s.From != "", " FROM ", s.From)
	w.named(" ", s.FromName)
	var items []func()
	if s.Password != nil {
		items = append(items, func() {
			w.optional("PASSWORD = ", s.Password)
			w.textIf(s.Hashed, " HASHED")
			w.textIf(s.MustChange, " MUST_CHANGE")
			w.textIf(s.Unlock, " UNLOCK")
			w.optional(" OLD_PASSWORD = ", s.OldPassword)
		})
	}
	w.withItems(w.addOptions(items, s.Options))
}

// addOptions appends options to items.
func (w *printer) addOptions(items []func(), options []*syntax.Option) []func() {
	for _, o := range options {
		items = append(items, func() { w.option(o) })
	}
	return items
}

// user writes CREATE and ALTER USER.
func (w *printer) user(s *syntax.UserStmt) {
	w.verb(s.Verb)
	w.text("USER ")
	w.ident(s.Name)
	w.textIf(s.WithoutLogin, " WITHOUT LOGIN")
	if s.Verb == syntax.Create {
		w.named(" FOR LOGIN ", s.Login)
	}
	w.textIf(s.From != "", " FROM ", s.From)
	w.named(" ", s.FromName)
	var items []func()
	if s.Password != nil {
		items = append(items, func() {
			w.optional("PASSWORD = ", s.Password)
			w.optional(" OLD_PASSWORD = ", s.OldPassword)
		})
	}
	if s.Verb == syntax.Alter && s.Login.Name != "" {
		items = append(items, func() { w.named("LOGIN = ", s.Login) })
	}
	w.withItems(w.addOptions(items, s.Options))
}

// masterKey writes statements about the master key.
func (w *printer) masterKey(s *syntax.MasterKeyStmt) {
	w.text(s.Action, " MASTER KEY")
	w.textIf(s.Detail != "", " ", s.Detail)
	if s.Password == nil {
		return
	}
	switch {
	case s.Action == "OPEN":
		w.text(" DECRYPTION BY PASSWORD")
	case strings.HasSuffix(s.Detail, "REGENERATE"):
		w.text(" WITH ENCRYPTION BY PASSWORD")
	case s.Action == "CREATE":
		w.text(" ENCRYPTION BY PASSWORD")
	}
	w.optional(" = ", s.Password)
}

// permission writes a permission.
func (w *printer) permission(p *syntax.Permission) {
	w.text(p.Name)
	w.idents(p.Columns)
}

// securable writes the securable of a permission.
func (w *printer) securable(class string, name *syntax.ObjectName) {
	w.textIf(class != "", class, "::")
	if class == "ROLE" && len(name.Parts) == 1 {
		w.principal(name.Parts[0])
		return
	}
	w.name(name)
}

// permissions writes GRANT, DENY and REVOKE.
func (w *printer) permissions(s *syntax.PermissionStmt) {
	w.text(s.Action, " ")
	w.textIf(s.GrantOptionFor, "GRANT OPTION FOR ")
	nodes(w, s.Permissions)
	if s.On != nil {
		w.text(" ON ")
		w.securable(s.Class, s.On)
		w.idents(s.Columns)
	}
	w.text(map[bool]string{true: " FROM ", false: " TO "}[s.Action == "REVOKE"])
	writeList(w, s.To, w.principal)
	w.textIf(s.WithGrantOption, " WITH GRANT OPTION")
	w.textIf(s.Cascade, " CASCADE")
	if s.As.Name != "" {
		w.text(" AS ")
		w.principal(s.As)
	}
}
