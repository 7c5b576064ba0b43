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

// Instance is what a database says of itself: the same whatever name it was reached by.
type Instance struct {
	// Server is @@SERVERNAME.
	Server string
	// Database is DB_NAME().
	Database string
	// GUID is service_broker_guid in sys.databases. A database keeps it when its server changes (availability group, restore), and so do its
	// copies. Empty or zeros: not known.
	GUID string
}

// noGUID is the service_broker_guid of master and model.
const noGUID = "00000000-0000-0000-0000-000000000000"

// known says whether i is a database at all.
func (i Instance) known() bool { return i.Database != "" }

// hasGUID compares a service_broker_guid with i's.
func (i Instance) hasGUID(guid string) bool {
	return i.GUID != "" && i.GUID != noGUID && targets.FoldName(guid) == targets.FoldName(i.GUID)
}

// is says whether i is what calls itself so. The name must be the same in any case: copies of a database have its GUID.
func (i Instance) matches(server, database, guid string) bool {
	return i.known() && targets.FoldName(i.Database) == targets.FoldName(database) && (targets.FoldName(i.Server) == targets.FoldName(server) || i.hasGUID(guid))
}

// The questions to a session's server.
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
	// hasSchema: a control schema is installed in the database, and the login may use something of it.
	hasSchema bool
	// mayEnter: the login can enter a database of the control database's name.
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

// expand puts what is asked for into a question.
func (i Instance) expand(question string) string {
	return Expand(question, Variables{"control_name": StringValue(i.Database)})
}

// hasControl asks a session's server whether it has the control database. seen is false when the login would not see it.
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

// systemDatabases are those of which a server has one each.
var systemDatabases = []string{"master", "tempdb", "model", "msdb"}

// refusal says why a session must not run an author's text (I13); empty: it may. The server's own word counts, and not the name by which it
// was reached. What cannot be told is refused. hasControl asks whether the server has i, and whether the login would see that.
func (i Instance) refusal(id identity, hasControl func() (has, seen bool, err error)) (string, error) {
	sameName, system := targets.FoldName(id.database) == targets.FoldName(i.Database), slices.Contains(systemDatabases, targets.FoldName(id.database))
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
			return fmt.Sprintf("its login can enter a database [%s] on the same server, and does not see whether that is the control database; "+
				"GRANT VIEW ANY DATABASE to it, or use another credential", i.Database), nil
		}
		here = has
	}
	switch {
	case here && sameName:
		return "it is the control database", nil
	case here && system:
		return fmt.Sprintf("server %s has the control database", id.server), nil
	case here && id.mayEnter:
		return fmt.Sprintf("its login can enter the control database [%s] on the same server; DROP USER there, take it out of sysadmin, "+
			"or use another credential", i.Database), nil
	}
	return "", nil
}

// admit refuses a session on which text of a job's author would have rights on the control database. It returns the session's id, 0 if
// nobody asked for it. It costs one round trip, in place of the question for the session id where that is asked for, and a second one where
// the database or the login is suspect and the server calls itself otherwise than the control database's did.
//
// A pass is remembered for admissionTime, by the address that was dialed in the end: a change of DNS leads to another one. A refusal is not.
func (s *Servers) admit(ctx context.Context, sess *session, server, database, credential string) (spid int, err error) {
	if s.cfg.AllowControlDatabase {
		return 0, nil
	}
	if credential == "" {
		credential = targets.DefaultCredential
	}
	key := admissionKey{sess.wire.address(), targets.FoldName(server), targets.FoldName(database), targets.FoldName(credential)}
	remember := sess.spid() != 0
	if remember && s.admitted.has(key) {
		return 0, nil
	}
	id, err := sess.identify(ctx, s.cfg.Control)
	if err != nil {
		return 0, fmt.Errorf("ask %s/%s what it is: %w", server, database, err)
	}
	why, err := s.cfg.Control.refusal(id, func() (has, seen bool, err error) { return sess.hasControl(ctx, s.cfg.Control) })
	if err != nil {
		return 0, fmt.Errorf("ask %s/%s for the control database: %w", server, database, err)
	}
	if why != "" {
		return id.spid, &targets.ConfigError{Subject: fmt.Sprintf("target %s/%s with credential %q", server, database, credential), Err: fmt.Errorf("%s, on which "+
			"no script of a job may have rights, unless targets.allow_control_database is true in the agent's configuration", why)}
	}
	if remember {
		s.admitted.add(key)
	}
	return id.spid, nil
}

// passes remembers for a while which sessions were admitted. Safe for concurrent use.
type admissions struct {
	mu    sync.Mutex
	since map[admissionKey]time.Time
}

// admissionKey says which sessions are alike. All names are folded.
type admissionKey struct{ address, server, database, credential string }

const (
	// admissionTime is how long a pass is good for: what an administrator grants meanwhile, or where a cluster moves an address, is noticed then.
	admissionTime = 30 * time.Second
	// maxAdmissions bounds the memory of passes.
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

// Principal is as whom a credential is let into a database.
type Principal struct {
	// Login is the login's name, and User that of its user in the database.
	Login, User string
	// SysAdmin says that it is a member of the server role sysadmin.
	SysAdmin bool
}

// Visit logs in to a database with a credential, as nothing that an author wrote does, and says as whom it was let in. The error is the server's
// when it was not: of ClassAuth, or 4060.
func (s *Servers) Principal(ctx context.Context, server, database, credential string) (v Principal, err error) {
	sess, err := s.open(ctx, server, database, credential, "")
	if err != nil {
		return v, err
	}
	defer sess.close()
	defer cutAfter(ctx, sess.wire, 0)()
	var row [3]driver.Value
	if err := sess.row(ctx, "SELECT ORIGINAL_LOGIN(), USER_NAME(), CAST(ISNULL(IS_SRVROLEMEMBER(N'sysadmin'), 0) AS INT);", row[:]); err != nil {
		return v, causeOr(ctx, fmt.Errorf("ask %s/%s for the login: %w", server, database, err))
	}
	v.Login, _ = row[0].(string)
	v.User, _ = row[1].(string)
	admin, _ := row[2].(int64)
	v.SysAdmin = admin == 1
	return v, nil
}
