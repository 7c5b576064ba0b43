package sqlprinter

import (
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/printer"
)

// security writes statements about principals, keys and permissions.
func security(w *printer.Writer, s syntax.Stmt) {
	switch s := s.(type) {
	case *syntax.LoginStmt:
		login(w, s)
	case *syntax.UserStmt:
		user(w, s)
	case *syntax.RoleStmt:
		w.Text(s.Verb.String(), " ")
		w.TextIf(s.Server, "SERVER ")
		w.Put("ROLE ", s.Name)
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
				w.Text(x.before)
				principal(w, x.id)
			}
		}
	case *syntax.CredentialStmt:
		w.Put(s.Verb.String(), " DATABASE SCOPED CREDENTIAL ", s.Name)
		printer.Opt(w, " WITH IDENTITY = ", s.Identity)
		printer.Opt(w, ", SECRET = ", s.Secret)
	case *syntax.PermissionStmt:
		permissions(w, s)
	case *syntax.AlterAuthorizationStmt:
		w.Text("ALTER AUTHORIZATION ON ")
		securable(w, s.Class, s.Name)
		w.Text(" TO ")
		w.TextIf(s.SchemaOwner, "SCHEMA OWNER")
		principal(w, s.Principal)
	default:
		admin(w, s)
	}
}

// admin writes statements about sessions and the server.
func admin(w *printer.Writer, s syntax.Stmt) {
	switch s := s.(type) {
	case *syntax.ExecuteAsStmt:
		w.Text("EXECUTE AS ")
		switch {
		case s.Caller:
			w.Text("CALLER")
		case s.Login:
			w.Text("LOGIN")
		default:
			w.Text("USER")
		}
		printer.Opt(w, " = ", s.Name)
		w.TextIf(s.NoRevert, " WITH NO REVERT")
	case *syntax.RevertStmt:
		w.Text("REVERT")
	case *syntax.DBCCStmt:
		w.Text("DBCC ", s.Command)
		if s.Args != nil {
			w.Text(" (")
			printer.Each(w, s.Args, func(x syntax.Expr) {
				if c, ok := x.(*syntax.ColumnRef); ok && len(c.Parts) == 1 && !c.Parts[0].Quoted { // words may be keywords
					w.Text(c.Parts[0].Name)
					return
				}
				w.Put(x)
			})
			w.Text(")")
		}
		printer.Listed(w, " WITH ", s.Options)
	case *syntax.ReconfigureStmt:
		w.Text("RECONFIGURE")
		w.TextIf(s.Override, " WITH OVERRIDE")
	case *syntax.KillStmt:
		w.Put("KILL ", s.Session)
		w.TextIf(s.StatusOnly, " WITH STATUSONLY")
	}
}

// withItems writes WITH and the items, if any.
func withItems(w *printer.Writer, items []func()) {
	for i, write := range items {
		w.Text(printer.Either(i == 0, " WITH ", ", "))
		write()
	}
}

// login writes CREATE and ALTER LOGIN.
func login(w *printer.Writer, s *syntax.LoginStmt) {
	w.Put(s.Verb.String(), " LOGIN ", s.Name)
	w.TextIf(s.Enable, " ENABLE")
	w.TextIf(s.Disable, " DISABLE")
	w.TextIf(s.Windows, " FROM WINDOWS")
	var items []func()
	if s.Password != nil {
		items = append(items, func() {
			printer.Opt(w, "PASSWORD = ", s.Password)
			w.TextIf(s.MustChange, " MUST_CHANGE")
			w.TextIf(s.Unlock, " UNLOCK")
			printer.Opt(w, " OLD_PASSWORD = ", s.OldPassword)
		})
	}
	withItems(w, addOptions(w, items, s.Options))
}

// addOptions appends options to items.
func addOptions(w *printer.Writer, items []func(), options []*syntax.Option) []func() {
	for _, o := range options {
		items = append(items, func() { option(w, o) })
	}
	return items
}

// user writes CREATE and ALTER USER.
func user(w *printer.Writer, s *syntax.UserStmt) {
	w.Put(s.Verb.String(), " USER ", s.Name)
	w.TextIf(s.WithoutLogin, " WITHOUT LOGIN")
	if s.Verb == syntax.Create {
		named(w, " FOR LOGIN ", s.Login)
	}
	var items []func()
	if s.Password != nil {
		items = append(items, func() {
			printer.Opt(w, "PASSWORD = ", s.Password)
			printer.Opt(w, " OLD_PASSWORD = ", s.OldPassword)
		})
	}
	if s.Verb == syntax.Alter && s.Login.Name != "" {
		items = append(items, func() { named(w, "LOGIN = ", s.Login) })
	}
	withItems(w, addOptions(w, items, s.Options))
}

// securable writes the securable of a permission.
func securable(w *printer.Writer, class string, name *syntax.ObjectName) {
	w.TextIf(class != "", class, "::")
	if class == "ROLE" && len(name.Parts) == 1 {
		principal(w, name.Parts[0])
		return
	}
	w.Node(name)
}

// permissions writes GRANT, DENY and REVOKE.
func permissions(w *printer.Writer, s *syntax.PermissionStmt) {
	w.Text(s.Action, " ")
	w.TextIf(s.GrantOptionFor, "GRANT OPTION FOR ")
	words(w, s.Permissions)
	if s.On != nil {
		w.Text(" ON ")
		securable(w, s.Class, s.On)
	}
	w.Text(printer.Either(s.Action == "REVOKE", " FROM ", " TO "))
	printer.Each(w, s.To, func(id syntax.Ident) { principal(w, id) })
	w.TextIf(s.WithGrantOption, " WITH GRANT OPTION")
	w.TextIf(s.Cascade, " CASCADE")
}
