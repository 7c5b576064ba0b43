package ddl

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/session"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// databases executes statements over databases.
type databases struct{ *Executor }

// filesIgnored is the message about ignored files of CREATE DATABASE. CREATE DATABASE with files is
// not an error, because scripts of SMO, DacFx and Microsoft's samples always name files.
func filesIgnored() *mserr.Error {
	return mserr.New(0, 0,
		"tsqld: The files in CREATE DATABASE are ignored. The embedded server stores each database in a file in its data directory.")
}

// createDatabase executes CREATE DATABASE. It ignores editions, and files with a message.
func (r databases) createDatabase(st *syntax.CreateDatabaseStmt) error {
	s := r.s
	switch {
	case s.Tran.Open():
		return mserr.DatabaseNotInTransaction("CREATE DATABASE")
	case !s.ServerRole("dbcreator"):
		return mserr.DatabasePermission("CREATE DATABASE", s.Database())
	}
	opts := catalog.Options{
		Collation: catalog.DefaultCollation, CompatibilityLevel: 160, ReadCommittedSnapshot: true,
		AllowSnapshotIsolation: true,
	}
	if st.Collation != "" {
		c, ok := types.CollationByName(st.Collation)
		if !ok {
			return mserr.InvalidCollation(st.Collation)
		}
		opts.Collation = c.String()
	}
	for _, o := range st.Options {
		if o.Name == "SERVICE_OBJECTIVE" {
			opts.ElasticPool = elasticPool(o)
		}
		for _, sub := range o.Sub {
			if sub.Name == "SERVICE_OBJECTIVE" {
				opts.ElasticPool = elasticPool(sub)
			}
		}
	}
	login, ok := s.AsLogin()
	if !ok { // a confined identity has no permission on the server, and no SID that may own a database
		return mserr.DatabasePermission("CREATE DATABASE", "master")
	}
	if _, err := s.Server.Catalog.CreateDatabase(r.ctx, st.Name.Name, login.SID, opts, r.s.Datetime()); err != nil {
		return err
	}
	if st.Files {
		return r.host.Info(filesIgnored())
	}
	return nil
}

// elasticPool returns the pool of SERVICE_OBJECTIVE = ELASTIC_POOL (name = pool), "" for other
// objectives.
func elasticPool(o *syntax.Option) string {
	for _, sub := range o.Sub {
		if sub.Name == "NAME" && sub.Value != nil {
			return strings.Trim(wordOf(sub.Value), "[]")
		}
	}
	return ""
}

// dropDatabase executes DROP DATABASE.
func (r databases) dropDatabase(st *syntax.DropStmt, name string) error {
	s := r.s
	if s.Tran.Open() {
		return mserr.NotInTransaction("DROP DATABASE")
	}
	d := s.DatabaseByName(name)
	switch {
	case d == nil && st.IfExists:
		return nil
	case d == nil || !s.OwnsDatabase(d) && !s.ServerRole("dbcreator"):
		return mserr.CannotDrop("drop", "database", name).WithState(1)
	case d.ID <= catalog.DatabaseMSDB:
		return mserr.SystemDrop("drop", "database", d.Name)
	}
	release, ok := s.Reserve(r.ctx, d.ID) // no other session may enter the database from here on
	if !ok {
		return mserr.DatabaseInUse(d.Name)
	}
	defer release()
	if s.DatabaseID == d.ID || len(s.Server.Users(d.ID, s)) > 0 {
		return mserr.DatabaseInUse(d.Name)
	}
	// With the writer lock held, no other session writes to the database.
	if err := s.LockWriter(r.ctx, d.ID); err != nil {
		return err
	}
	defer s.EndTransaction()
	s.Server.ForgetDatabase(d.ID)
	return s.Server.Catalog.DropDatabase(d)
}

// alterDatabase executes ALTER DATABASE.
func (r databases) alterDatabase(st *syntax.AlterDatabaseStmt) error {
	s := r.s
	if st.Scoped {
		return r.alterScoped(st)
	}
	d := s.DatabaseByName(st.Name.Name)
	if d == nil || !s.OwnsDatabase(d) {
		return alterFailed(mserr.AlterDatabasePermission(st.Name.Name))
	}
	// "The ALTER DATABASE statement must run in autocommit mode … and is not allowed in an
	// explicit or implicit transaction" (documentation of ALTER DATABASE).
	if s.Tran.Open() || s.Options.ImplicitTransactions {
		return mserr.DatabaseNotInTransaction("ALTER DATABASE")
	}
	switch {
	case st.NewName.Name != "" && d.ID <= catalog.DatabaseMSDB:
		return alterFailed(mserr.OptionNotSettable("MODIFY NAME", d.Name))
	case st.NewName.Name != "":
		return r.s.Alter(r.ctx, d, func(_ *catalog.Database, e *catalog.Edit) error {
			if s.DatabaseByName(st.NewName.Name) != nil && !catalog.EqualNames(st.NewName.Name, d.Name) {
				return mserr.DatabaseExists(st.NewName.Name)
			}
			e.Rename(st.NewName.Name)
			return nil
		})
	}
	return r.alterOptions(d, st)
}

// alterScoped executes ALTER DATABASE SCOPED CONFIGURATION. The options tune a query processor that
// does not exist here, so they are only shown in sys.database_scoped_configurations. The permission
// is ALTER ANY DATABASE SCOPED CONFIGURATION, which members of db_owner have.
func (r databases) alterScoped(st *syntax.AlterDatabaseStmt) error {
	d := r.s.DatabaseByName(r.s.Database())
	if d == nil || !r.s.OwnsDatabase(d) {
		return mserr.DatabasePermission("ALTER ANY DATABASE SCOPED CONFIGURATION", r.s.Database())
	}
	return r.s.Alter(r.ctx, d, func(now *catalog.Database, e *catalog.Edit) error {
		opts := now.Options
		opts.Other = maps.Clone(opts.Other)
		if opts.Other == nil {
			opts.Other = map[string]string{}
		}
		for _, o := range st.Set {
			if o.Value != nil && !strings.HasPrefix(o.Name, "CLEAR ") {
				opts.Other[catalog.ScopedOption+o.Name] = strings.ToUpper(wordOf(o.Value))
			}
		}
		e.SetOptions(opts)
		return nil
	})
}

// alterOptions executes ALTER DATABASE ... SET and MODIFY. Options without a meaning here are
// stored as text.
func (r databases) alterOptions(d *catalog.Database, st *syntax.AlterDatabaseStmt) error {
	s := r.s
	if d.ID <= catalog.DatabaseMSDB && slices.ContainsFunc(st.Set, func(o *syntax.Option) bool {
		return exclusiveOptions[o.Name]
	}) {
		return alterFailed(mserr.OptionNotSettable(st.Set[0].Name, d.Name))
	}
	if d.Options.SingleUser && s.Server.HasOther(d.ID, s) {
		return alterFailed(mserr.Of(5064, d.Name))
	}
	// https://learn.microsoft.com/sql/t-sql/statements/alter-database-transact-sql-set-options
	if !s.Sysadmin() && slices.ContainsFunc(st.Set, func(o *syntax.Option) bool {
		return o.Name == "TRUSTWORTHY" || o.Name == "DB_CHAINING"
	}) {
		return alterFailed(mserr.AlterDatabasePermission(d.Name))
	}
	do := func(now *catalog.Database, e *catalog.Edit) error {
		opts := now.Options
		other := map[string]string{}
		for k, v := range opts.Other {
			other[k] = v
		}
		for _, o := range append(append([]*syntax.Option(nil), st.Set...), st.Modify...) {
			if err := setDatabaseOption(&opts, other, o); err != nil {
				return err
			}
		}
		opts.Other = other
		e.SetOptions(opts)
		return nil
	}
	if needsExclusive(d, st.Set) || st.Termination != "" && st.Termination != "NO_WAIT" {
		return r.exclusively(d, st, func() error { return r.applyOptions(d, do) })
	}
	return r.applyOptions(d, do)
}

// applyOptions changes the options of a database.
func (r databases) applyOptions(d *catalog.Database, do func(now *catalog.Database, e *catalog.Edit) error) error {
	if d.Options.ReadOnly {
		// This is the only statement that may write to a read-only database.
		return r.s.Atomic(r.ctx, session.Scope{Databases: []int{d.ID}, Several: true}, func() error {
			return r.s.Edit(r.ctx, d, func(e *catalog.Edit) error { return do(e.Database(), e) })
		})
	}
	return r.s.Alter(r.ctx, d, do)
}

// setDatabaseOption applies one option of ALTER DATABASE.
func setDatabaseOption(opts *catalog.Options, other map[string]string, o *syntax.Option) error {
	on := true
	text := ""
	if o.Value != nil {
		text = strings.ToUpper(wordOf(o.Value))
		on = text != "OFF"
	}
	switch o.Name {
	case "READ_COMMITTED_SNAPSHOT":
		opts.ReadCommittedSnapshot = on
	case "ALLOW_SNAPSHOT_ISOLATION":
		opts.AllowSnapshotIsolation = on
	case "READ_ONLY":
		opts.ReadOnly = true
	case "READ_WRITE":
		opts.ReadOnly = false
	case "SINGLE_USER":
		opts.SingleUser, opts.RestrictedUser = true, false
	case "RESTRICTED_USER":
		opts.SingleUser, opts.RestrictedUser = false, true
	case "MULTI_USER":
		opts.SingleUser, opts.RestrictedUser = false, false
	case "OFFLINE":
		opts.Offline = true
	case "ONLINE":
		opts.Offline = false
	case "RECURSIVE_TRIGGERS":
		opts.RecursiveTriggers = on
	case "ANSI_NULLS":
		opts.AnsiNulls = on
	case "TRUSTWORTHY":
		opts.Trustworthy = on
	case "COMPATIBILITY_LEVEL":
		n, err := strconv.Atoi(text)
		if err != nil || n < 100 || n > 170 {
			return mserr.Of(15048)
		}
		opts.CompatibilityLevel = n
	case "SERVICE_OBJECTIVE":
		opts.ElasticPool = elasticPool(o)
	default:
		other[o.Name] = text
	}
	return nil
}
