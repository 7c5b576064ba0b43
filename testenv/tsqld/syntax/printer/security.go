package printer

import (
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
)

// security writes statements about principals, keys and permissions.
func security(w *writer, s syntax.Stmt) {
	switch s := s.(type) {
	case *syntax.LoginStmt:
		login(w, s)
	case *syntax.UserStmt:
		user(w, s)
	case *syntax.RoleStmt:
		w.text(s.Verb.String(), " ")
		w.textIf(s.Server, "SERVER ")
		w.put("ROLE ", s.Name)
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
				principal(w, x.id)
			}
		}
	case *syntax.CredentialStmt:
		w.text(s.Verb.String(), " ")
		w.textIf(s.Scoped, "DATABASE SCOPED ")
		w.put("CREDENTIAL ", s.Name)
		opt(w, " WITH IDENTITY = ", s.Identity)
		opt(w, ", SECRET = ", s.Secret)
		named(w, " FOR CRYPTOGRAPHIC PROVIDER ", s.Provider)
	case *syntax.MasterKeyStmt:
		masterKey(w, s)
	case *syntax.PermissionStmt:
		permissions(w, s)
	case *syntax.AlterAuthorizationStmt:
		w.text("ALTER AUTHORIZATION ON ")
		securable(w, s.Class, s.Name)
		w.text(" TO ")
		w.textIf(s.SchemaOwner, "SCHEMA OWNER")
		principal(w, s.Principal)
	default:
		admin(w, s)
	}
}

// admin writes statements about sessions and the server.
func admin(w *writer, s syntax.Stmt) {
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
		opt(w, " = ", s.Name)
		w.textIf(s.NoRevert, " WITH NO REVERT")
		w.textIf(s.Cookie != "", " WITH COOKIE INTO ", s.Cookie)
	case *syntax.RevertStmt:
		w.text("REVERT")
		opt(w, " WITH COOKIE = ", s.Cookie)
	case *syntax.DBCCStmt:
		w.text("DBCC ", s.Command)
		if s.Args != nil {
			w.text(" (")
			writeList(w, s.Args, func(x syntax.Expr) {
				if c, ok := x.(*syntax.ColumnRef); ok && len(c.Parts) == 1 && !c.Parts[0].Quoted { // words may be keywords
					w.text(c.Parts[0].Name)
					return
				}
				expr(w, x)
			})
			w.text(")")
		}
		listed(w, " WITH ", s.Options)
	case *syntax.CheckpointStmt:
		w.text("CHECKPOINT")
		opt(w, " ", s.Duration)
	case *syntax.ReconfigureStmt:
		w.text("RECONFIGURE")
		w.textIf(s.Override, " WITH OVERRIDE")
	case *syntax.KillStmt:
		w.put("KILL ", s.Session)
		w.textIf(s.StatusOnly, " WITH STATUSONLY")
	}
}

// withItems writes WITH and the items, if any.
func withItems(w *writer, items []func()) {
	for i, write := range items {
		w.text(either(i == 0, " WITH ", ", "))
		write()
	}
}

// login writes CREATE and ALTER LOGIN.
func login(w *writer, s *syntax.LoginStmt) {
	w.put(s.Verb.String(), " LOGIN ", s.Name)
	w.textIf(s.Enable, " ENABLE")
	w.textIf(s.Disable, " DISABLE")
	named(w, " ADD CREDENTIAL ", s.AddCredential)
	named(w, " DROP CREDENTIAL ", s.DropCredential)
	w.textIf(s.From != "", " FROM ", s.From)
	named(w, " ", s.FromName)
	var items []func()
	if s.Password != nil {
		items = append(items, func() {
			opt(w, "PASSWORD = ", s.Password)
			w.textIf(s.Hashed, " HASHED")
			w.textIf(s.MustChange, " MUST_CHANGE")
			w.textIf(s.Unlock, " UNLOCK")
			opt(w, " OLD_PASSWORD = ", s.OldPassword)
		})
	}
	withItems(w, addOptions(w, items, s.Options))
}

// addOptions appends options to items.
func addOptions(w *writer, items []func(), options []*syntax.Option) []func() {
	for _, o := range options {
		items = append(items, func() { option(w, o) })
	}
	return items
}

// user writes CREATE and ALTER USER.
func user(w *writer, s *syntax.UserStmt) {
	w.put(s.Verb.String(), " USER ", s.Name)
	w.textIf(s.WithoutLogin, " WITHOUT LOGIN")
	if s.Verb == syntax.Create {
		named(w, " FOR LOGIN ", s.Login)
	}
	w.textIf(s.From != "", " FROM ", s.From)
	named(w, " ", s.FromName)
	var items []func()
	if s.Password != nil {
		items = append(items, func() {
			opt(w, "PASSWORD = ", s.Password)
			opt(w, " OLD_PASSWORD = ", s.OldPassword)
		})
	}
	if s.Verb == syntax.Alter && s.Login.Name != "" {
		items = append(items, func() { named(w, "LOGIN = ", s.Login) })
	}
	withItems(w, addOptions(w, items, s.Options))
}

// masterKey writes statements about the master key.
func masterKey(w *writer, s *syntax.MasterKeyStmt) {
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
	opt(w, " = ", s.Password)
}

// permission writes a permission.
func permission(w *writer, p *syntax.Permission) {
	w.text(p.Name)
	idents(w, p.Columns)
}

// securable writes the securable of a permission.
func securable(w *writer, class string, name *syntax.ObjectName) {
	w.textIf(class != "", class, "::")
	if class == "ROLE" && len(name.Parts) == 1 {
		principal(w, name.Parts[0])
		return
	}
	w.node(name)
}

// permissions writes GRANT, DENY and REVOKE.
func permissions(w *writer, s *syntax.PermissionStmt) {
	w.text(s.Action, " ")
	w.textIf(s.GrantOptionFor, "GRANT OPTION FOR ")
	nodes(w, s.Permissions)
	if s.On != nil {
		w.text(" ON ")
		securable(w, s.Class, s.On)
		idents(w, s.Columns)
	}
	w.text(either(s.Action == "REVOKE", " FROM ", " TO "))
	writeList(w, s.To, func(id syntax.Ident) { principal(w, id) })
	w.textIf(s.WithGrantOption, " WITH GRANT OPTION")
	w.textIf(s.Cascade, " CASCADE")
	if s.As.Name != "" {
		w.text(" AS ")
		principal(w, s.As)
	}
}
