package mssql

import (
	"context"
	"database/sql/driver"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/jobagent/jobagent/targets"
)

// Instance identifies a database independently of the server name by which it was reached.
type Instance struct {
	// Server is @@SERVERNAME.
	Server string
	// Database is DB_NAME().
	Database string
	// GUID is service_broker_guid in sys.databases. A database keeps it when its server changes
	// (availability group, restore), and copies of the database have it, too. Empty or all zeros
	// means unknown.
	GUID string
}

// noGUID is the service_broker_guid of master and model.
const noGUID = "00000000-0000-0000-0000-000000000000"

// known reports whether i identifies a database.
func (i Instance) known() bool { return i.Database != "" }

// hasGUID compares a service_broker_guid with that of i.
func (i Instance) hasGUID(guid string) bool {
	return i.GUID != "" && i.GUID != noGUID && targets.FoldName(guid) == targets.FoldName(i.GUID)
}

// matches reports whether i has this name and GUID. The names are compared without case. They must
// be equal, because copies of a database share its GUID.
func (i Instance) matches(server, database, guid string) bool {
	return i.known() && targets.FoldName(i.Database) == targets.FoldName(database) &&
		(targets.FoldName(i.Server) == targets.FoldName(server) || i.hasGUID(guid))
}

// The queries to a session's server. They are sent without their comments.
var (
	//go:embed identity.sql
	identityFile string
	//go:embed identity_database.sql
	identityDatabaseFile string
	//go:embed identity_control.sql
	identityControlFile string

	identityText, identityDatabaseText = withoutComments(identityFile), withoutComments(identityDatabaseFile)
	identityControlText                = withoutComments(identityControlFile)
)

// comment matches a comment in a query of the agent, with the white space before it, or with its
// whole line if the line has nothing else. No such query has two hyphens elsewhere.
var comment = regexp.MustCompile(`(?m)^[ \t]*--.*\n|[ \t]+--.*$`)

// withoutComments returns a query of the agent without its comments.
func withoutComments(text string) string { return comment.ReplaceAllString(text, "") }

// identity is the answer to identity.sql.
type identity struct {
	spid             int
	server, database string
	// hasSchema means that a control schema is installed in the database and visible to the login.
	hasSchema bool
	// mayEnter means that the login can enter a database with the control database's name.
	mayEnter bool
	// edition is SERVERPROPERTY('EngineEdition'); 0 means unknown.
	edition int
}

// identify asks a session's server for its identity.
func (s *session) identify(ctx context.Context, control Instance) (id identity, err error) {
	var row [6]driver.Value
	if err := s.row(ctx, control.expand(identityText), row[:]); err != nil {
		return id, err
	}
	return id, scan(row[:], &id.spid, &id.server, &id.database, &id.hasSchema, &id.mayEnter, &id.edition)
}

// identifyDatabase queries only the values that depend on the session's database. The other values
// are those of a session with the same credential on another database of the server.
//
// The rights to impersonate or to change logins are those of the login. A credential that is a
// contained user of one database may be a login in another. HAS_DBACCESS is therefore queried again
// for this session.
func (s *session) identifyDatabase(ctx context.Context, control Instance, of identity) (id identity, err error) {
	var row [3]driver.Value
	if err := s.row(ctx, control.expand(identityDatabaseText), row[:]); err != nil {
		return id, err
	}
	id = of
	var enters bool
	err = scan(row[:], &id.database, &id.hasSchema, &enters)
	id.mayEnter = of.mayEnter || enters && of.edition != editionAzure
	return id, err
}

// scan takes the values of a row.
func scan(row []driver.Value, into ...any) error {
	for i, to := range into {
		n, number := row[i].(int64)
		text, ok := row[i].(string)
		switch to := to.(type) {
		case *int:
			*to, ok = int(n), number
		case *bool:
			*to, ok = n != 0, number
		case *string:
			*to = text
		}
		if !ok {
			return errors.New("the answer has other types")
		}
	}
	return nil
}

// expand inserts the name of i into a query.
func (i Instance) expand(question string) string {
	return Expand(question, Variables{"control_name": StringValue(i.Database)})
}

// hasControl queries whether a session's server has the control database. seen is false if the
// login cannot see it.
func (s *session) hasControl(ctx context.Context, control Instance) (has, seen bool, err error) {
	var row [2]driver.Value
	if err := s.row(ctx, control.expand(identityControlText), row[:]); err != nil {
		return false, false, err
	}
	guid, _ := row[0].(string)
	all, ok := row[1].(int64)
	if !ok {
		return false, false, errors.New("the answer has other types")
	}
	return control.hasGUID(guid), guid != "" || all != 0, nil
}

// systemDatabases are the databases that every server has.
var systemDatabases = []string{"master", "tempdb", "model", "msdb"}

// refusal returns the reason why a session must not run text of a job's author (I13); empty means
// that it may. The server's own name decides, not the name by which it was reached. An uncertain
// case is refused. hasControl reports whether the server has the database i, and whether the login
// could see it.
func (i Instance) refusal(id identity, hasControl func() (has, seen bool, err error)) (string, error) {
	name := targets.FoldName(id.database)
	sameName, system := name == targets.FoldName(i.Database), slices.Contains(systemDatabases, name)
	switch {
	case id.hasSchema:
		return "a control database of jobagent is installed in it", nil
	case !i.known() || !sameName && !system && !id.mayEnter:
		return "", nil
	}
	here := targets.FoldName(id.server) == targets.FoldName(i.Server)
	if !here {
		has, seen, err := hasControl()
		if err != nil {
			return "", err
		}
		if !has && !seen && id.mayEnter {
			return fmt.Sprintf("its login can enter a database [%s] on the same server, "+
				"and cannot see whether that is the control database; "+
				"GRANT VIEW ANY DATABASE to it, or use another credential", i.Database), nil
		}
		here = has
	}
	switch {
	case here && sameName:
		return "it is the control database", nil
	case here && system:
		return fmt.Sprintf("server %s holds the control database", id.server), nil
	case here && id.mayEnter:
		return fmt.Sprintf("its login can enter the control database [%s] on the same server; "+
			"drop its user there, remove it from the role sysadmin, or use another credential", i.Database), nil
	}
	return "", nil
}

// admit refuses a session on which text of a job's author would have rights on the control
// database. It returns the identity of the session: at least the edition. admit costs one round
// trip, which replaces the round trip for the session ID. It costs a second one if the database or
// the login is suspect and the server's name differs from that of the control database's server.
//
// An admission is remembered for admissionTime by the address that was finally dialed, so that a
// DNS change leads to a new check. A refusal is not remembered. Most values are the same for all
// databases of a server. For a further database, admit queries only the others.
func (s *Servers) admit(ctx context.Context, sess *session, server, database, credential string) (id identity, err error) {
	if credential == "" {
		credential = targets.DefaultCredential
	}
	key := admissionKey{sess.wire.address(), targets.FoldName(server), targets.FoldName(credential)}
	remember := sess.spid() != 0
	known, admitted := identity{}, false
	if remember {
		known, admitted = s.admitted.find(key, targets.FoldName(database))
	}
	further := known.server != ""
	switch {
	case admitted:
		return known, nil
	case further:
		id, err = sess.identifyDatabase(ctx, s.cfg.Control, known)
	default:
		id, err = sess.identify(ctx, s.cfg.Control)
	}
	if err != nil {
		return id, fmt.Errorf("ask %s/%s for its identity: %w", server, database, err)
	}
	why, err := s.cfg.Control.refusal(id, func() (has, seen bool, err error) {
		return sess.hasControl(ctx, s.cfg.Control)
	})
	if err != nil {
		return id, fmt.Errorf("ask %s/%s for the control database: %w", server, database, err)
	}
	if why != "" {
		return id, &targets.ConfigError{
			Subject: fmt.Sprintf("target %s/%s with credential %q", server, database, credential),
			Err: fmt.Errorf("%s, on which no script of a job may have rights, "+
				"unless targets.allow_control_database is true in the agent's configuration", why),
		}
	}
	if remember {
		s.admitted.add(key, targets.FoldName(database), id, further)
	}
	return id, nil
}

// editionOf returns the edition of a session's server if admit is not used. It is remembered like
// an admission.
func (s *Servers) editionOf(ctx context.Context, sess *session, server, credential string) (int, error) {
	key := admissionKey{sess.wire.address(), targets.FoldName(server), targets.FoldName(credential)}
	if known, found := s.admitted.find(key, ""); found {
		return known.edition, nil
	}
	edition, err := sess.number(ctx, "SELECT COALESCE(CAST(SERVERPROPERTY('EngineEdition') AS INT), 0)")
	if err != nil && !isServerError(err) {
		return 0, fmt.Errorf("ask %s for its edition: %w", server, err)
	}
	s.admitted.add(key, "", identity{edition: edition}, false)
	return edition, nil
}

// admissions remembers admitted sessions for admissionTime. Safe for concurrent use.
type admissions struct {
	mu        sync.Mutex
	servers   map[admissionKey]*admission
	databases int // databases of all servers
}

// admissionKey identifies equivalent sessions on the databases of a server. All names are folded.
type admissionKey struct{ address, server, credential string }

// admission is the remembered identity of a server. It expires as a whole, so that no value about
// the server or the login is older than admissionTime.
type admission struct {
	since     time.Time
	id        identity
	databases map[string]struct{} // admitted databases, folded
}

const (
	// admissionTime is how long an admission is valid. A new right of a login, and an address that
	// a cluster moves, are detected after this time.
	admissionTime = 30 * time.Second
	// maxAdmissions bounds the memory of admissions, in databases.
	maxAdmissions = 20_000
)

// find returns the remembered identity of a server, and whether the database is admitted. The
// identity is that of a session on any database; it is zero if none is remembered.
func (a *admissions) find(k admissionKey, database string) (id identity, admitted bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	one := a.servers[k]
	if one == nil || time.Since(one.since) >= admissionTime {
		return identity{}, false
	}
	_, admitted = one.databases[database]
	id = one.id
	id.spid = 0
	return id, admitted
}

// add remembers that a database is admitted. The identity of a server is that of its first session.
// A further database, whose identity is partly remembered, expires together with the first.
func (a *admissions) add(k admissionKey, database string, id identity, further bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.databases >= maxAdmissions {
		maps.DeleteFunc(a.servers, func(_ admissionKey, one *admission) bool {
			ended := time.Since(one.since) >= admissionTime
			if ended {
				a.databases -= len(one.databases)
			}
			return ended
		})
	}
	if a.databases >= maxAdmissions {
		return
	}
	one := a.servers[k]
	if one == nil || time.Since(one.since) >= admissionTime {
		if further {
			return
		}
		if one != nil {
			a.databases -= len(one.databases)
		}
		if a.servers == nil {
			a.servers = make(map[admissionKey]*admission)
		}
		one = &admission{since: time.Now(), id: id, databases: make(map[string]struct{})}
		a.servers[k] = one
	}
	if _, found := one.databases[database]; !found {
		one.databases[database] = struct{}{}
		a.databases++
	}
}

// Principal is the identity of a credential in a database.
type Principal struct {
	// Login is the name of the login, and User the name of its user in the database.
	Login, User string
	// SysAdmin means that the login is a member of the server role sysadmin.
	SysAdmin bool
	// ByGroup means that the login has no user of its own in the database, but is a member of a
	// group of Windows or Microsoft Entra ID that has one. User is then the login's name.
	ByGroup bool
	// AzureDatabase means that the server is Azure SQL Database, where a session stays in its
	// database, and an administrator of the server is dbo in each.
	AzureDatabase bool
}

// Principal logs in to a database with a credential and returns its identity there. It makes no
// other check and runs no text of an author. When the login is refused, the error is the server's:
// of ClassAuth, or error 4060.
func (s *Servers) Principal(ctx context.Context, server, database, credential string) (v Principal, err error) {
	sess, err := s.open(ctx, server, database, credential)
	if err != nil {
		return v, err
	}
	defer sess.close()
	defer cutAfter(ctx, sess.wire, 0)()
	var row [5]driver.Value
	// Every user sees itself.
	// https://learn.microsoft.com/sql/relational-databases/system-catalog-views/sys-database-principals-transact-sql
	const query = "SELECT ORIGINAL_LOGIN(), USER_NAME(), CAST(ISNULL(IS_SRVROLEMEMBER(N'sysadmin'), 0) AS INT), " +
		"CAST(SERVERPROPERTY('EngineEdition') AS INT), (SELECT COUNT(*) FROM sys.database_principals AS p WHERE p.name = USER_NAME());"
	if err := sess.row(ctx, query, row[:]); err != nil {
		return v, causeOr(ctx, fmt.Errorf("ask %s/%s for the login: %w", server, database, err))
	}
	v.Login, _ = row[0].(string)
	v.User, _ = row[1].(string)
	admin, _ := row[2].(int64)
	edition, _ := row[3].(int64)
	users, _ := row[4].(int64)
	v.SysAdmin, v.ByGroup, v.AzureDatabase = admin == 1, users == 0, edition == editionAzure
	return v, nil
}
