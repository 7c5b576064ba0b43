package mssql

import (
	"context"
	"database/sql/driver"
	_ "embed"
	"errors"
	"fmt"
	"maps"
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
	// (availability group, restore), and so do copies of the database. Empty or all zeros means
	// unknown.
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

// matches reports whether i has this name and GUID. The name must be the same in any case, because
// copies of a database share its GUID.
func (i Instance) matches(server, database, guid string) bool {
	return i.known() && targets.FoldName(i.Database) == targets.FoldName(database) &&
		(targets.FoldName(i.Server) == targets.FoldName(server) || i.hasGUID(guid))
}

// The queries to a session's server.
var (
	//go:embed identity.sql
	identityText string
	//go:embed identity_control.sql
	identityControlText string
)

// identity is the answer to identity.sql.
type identity struct {
	spid             int
	server, database string
	// hasSchema means that a control schema is installed in the database and visible to the login.
	hasSchema bool
	// mayEnter means that the login can enter a database with the control database's name.
	mayEnter bool
}

// identify asks a session's server for its identity.
func (s *session) identify(ctx context.Context, control Instance) (id identity, err error) {
	var row [5]driver.Value
	if err := s.row(ctx, control.expand(identityText), row[:]); err != nil {
		return id, err
	}
	spid, ok := row[0].(int64)
	id.spid = int(spid)
	for i, to := range []*string{&id.server, &id.database} {
		text, is := row[1+i].(string)
		*to, ok = text, ok && is
	}
	for i, to := range []*bool{&id.hasSchema, &id.mayEnter} {
		n, is := row[3+i].(int64)
		*to, ok = n != 0, ok && is
	}
	if !ok {
		return id, errors.New("the answer has other types")
	}
	return id, nil
}

// expand inserts the name of i into a query.
func (i Instance) expand(question string) string {
	return Expand(question, Variables{"control_name": StringValue(i.Database)})
}

// hasControl asks a session's server whether it has the control database. seen is false if the
// login could not see it.
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

// refusal returns why a session must not run text of a job's author (I13); empty means that it may.
// The server's own name decides, not the name by which it was reached. An uncertain case is
// refused. hasControl reports whether the server has the database i, and whether the login could
// see it.
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
// database. It returns the session's ID, or 0 if it did not ask. admit costs one round trip, which
// replaces the one for the session ID. It costs a second one if the database or the login is
// suspect and the server's name differs from that of the control database's server.
//
// An admission is remembered for admissionTime by the address that was finally dialed, so that a
// DNS change leads to a new check. A refusal is not remembered.
func (s *Servers) admit(ctx context.Context, sess *session, server, database, credential string) (spid int, err error) {
	if s.cfg.AllowControlDatabase {
		return 0, nil
	}
	if credential == "" {
		credential = targets.DefaultCredential
	}
	key := admissionKey{
		address: sess.wire.address(), server: targets.FoldName(server),
		database: targets.FoldName(database), credential: targets.FoldName(credential),
	}
	remember := sess.spid() != 0
	if remember && s.admitted.has(key) {
		return 0, nil
	}
	id, err := sess.identify(ctx, s.cfg.Control)
	if err != nil {
		return 0, fmt.Errorf("ask %s/%s for its identity: %w", server, database, err)
	}
	why, err := s.cfg.Control.refusal(id, func() (has, seen bool, err error) {
		return sess.hasControl(ctx, s.cfg.Control)
	})
	if err != nil {
		return 0, fmt.Errorf("ask %s/%s for the control database: %w", server, database, err)
	}
	if why != "" {
		return id.spid, &targets.ConfigError{
			Subject: fmt.Sprintf("target %s/%s with credential %q", server, database, credential),
			Err: fmt.Errorf("%s, on which no script of a job may have rights, "+
				"unless targets.allow_control_database is true in the agent's configuration", why),
		}
	}
	if remember {
		s.admitted.add(key)
	}
	return id.spid, nil
}

// admissions remembers admitted sessions for admissionTime. Safe for concurrent use.
type admissions struct {
	mu    sync.Mutex
	since map[admissionKey]time.Time
}

// admissionKey identifies equivalent sessions. All names are folded.
type admissionKey struct{ address, server, database, credential string }

const (
	// admissionTime is how long an admission is valid. A login that is granted access, and an
	// address that a cluster moves, are noticed after this time.
	admissionTime = 30 * time.Second
	// maxAdmissions bounds the memory of admissions.
	maxAdmissions = 20_000
)

func (a *admissions) has(k admissionKey) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	since, ok := a.since[k]
	return ok && time.Since(since) < admissionTime
}

func (a *admissions) add(k admissionKey) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.since) >= maxAdmissions {
		maps.DeleteFunc(a.since, func(_ admissionKey, since time.Time) bool { return time.Since(since) >= admissionTime })
	}
	if len(a.since) >= maxAdmissions {
		return
	}
	if a.since == nil {
		a.since = make(map[admissionKey]time.Time)
	}
	a.since[k] = time.Now()
}

// Principal is the identity of a credential in a database.
type Principal struct {
	// Login is the name of the login, and User the name of its user in the database.
	Login, User string
	// SysAdmin means that the login is a member of the server role sysadmin.
	SysAdmin bool
}

// Principal logs in to a database with a credential and returns its identity there. It checks
// nothing else and runs no text of an author. When the login is refused, the error is the server's:
// of ClassAuth, or error 4060.
func (s *Servers) Principal(ctx context.Context, server, database, credential string) (v Principal, err error) {
	sess, err := s.open(ctx, server, database, credential, "")
	if err != nil {
		return v, err
	}
	defer sess.close()
	defer cutAfter(ctx, sess.wire, 0)()
	var row [3]driver.Value
	const query = "SELECT ORIGINAL_LOGIN(), USER_NAME(), CAST(ISNULL(IS_SRVROLEMEMBER(N'sysadmin'), 0) AS INT);"
	if err := sess.row(ctx, query, row[:]); err != nil {
		return v, causeOr(ctx, fmt.Errorf("ask %s/%s for the login: %w", server, database, err))
	}
	v.Login, _ = row[0].(string)
	v.User, _ = row[1].(string)
	admin, _ := row[2].(int64)
	v.SysAdmin = admin == 1
	return v, nil
}
