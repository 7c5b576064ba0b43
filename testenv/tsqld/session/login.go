package session

import (
	"net"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
)

// Login holds the client's data of a login request.
type Login struct {
	User, Password string
	// Windows says that User and Realm are those of a verified Kerberos ticket.
	Windows     bool
	Foreign     bool // the realm is not the server's
	Realm       string
	Database    string // "" means the login's default database
	Language    string // name or alias; an unknown one and "" mean us_english
	App, Host   string
	Library     string // name of the client library
	PID         int    // of the client process
	Version     uint32 // TDS version that the server speaks
	PacketSize  int
	Encrypted   bool      // true if the whole connection is encrypted, not only the login
	Multiple    bool      // true if the client may run several requests at once (MARS)
	NewPassword string    // new password of a SQL login; "" keeps the password
	Recovery    *Recovery // the session that the login continues; nil for a new one
	// Local and Remote are the addresses of the connection; nil: there is no connection.
	Local, Remote net.Addr
}

// LoginError is the error of a rejected login.
type LoginError struct {
	Message *mserr.Error // for the client; as vague as SQL Server's message
	Reason  string       // for the operator of the server
}

// Error returns the message and the reason.
func (e *LoginError) Error() string { return e.Message.Error() + " (" + e.Reason + ")" }

// Unwrap returns the message.
func (e *LoginError) Unwrap() error { return e.Message }

// firstSPID is the first session ID of a client. SQL Server reserves the smaller ones for itself.
const firstSPID = 51

// authenticate checks the password and chooses the database. It hashes the password exactly once in
// every case, so that its duration does not reveal whether the login exists or may be used.
func (s *Session) authenticate(snap *catalog.Snapshot, l Login) error {
	if l.Windows {
		return s.authenticateWindows(snap, l)
	}
	login := snap.Login(l.User)
	var user *catalog.Principal
	var hash []byte
	d := snap.Database(l.Database)
	switch {
	case login != nil:
		hash = login.PasswordHash
	case d != nil:
		if user = d.Principals.Find(l.User); user != nil && user.IsRole() {
			user = nil
		}
		if user != nil {
			hash = user.PasswordHash
		}
	}
	right := s.Server.Config.CheckPassword(hash, l.Password)
	switch {
	case login == nil && (user == nil || len(hash) == 0):
		return &LoginError{mserr.LoginFailed(l.User), "unknown login"}
	case !right:
		return &LoginError{mserr.LoginFailed(l.User), "wrong password"}
	case login == nil:
		s.Login = userIdentity{shown: user.Name, database: d.ID, user: user.ID}
		s.Original = s.Login
		s.DatabaseID, s.homeDB = d.ID, d.ID
		return nil
	case login.Disabled:
		return &LoginError{mserr.LoginFailed(l.User), "the login is disabled"}
	case login.MustChange && l.NewPassword == "":
		return &LoginError{mserr.PasswordMustChange(l.User), "the password must be changed"}
	}
	return s.openFor(snap, login, l)
}

// openFor chooses the database of an authenticated login.
func (s *Session) openFor(snap *catalog.Snapshot, login *catalog.Login, l Login) error {
	s.Login = LoginIdentity{Name: login.Name, SID: login.SID, sysadmin: login.SysAdmin()}
	name := l.Database
	if name == "" {
		if name = login.DefaultDatabase; name == "" {
			name = "master"
		}
	}
	d := snap.Database(name)
	if d == nil || d.Options.Offline {
		return &LoginError{cannotOpen(l, name), "the database cannot be opened"}
	}
	if _, ok := s.Login.UserIn(d); !ok {
		return &LoginError{cannotOpen(l, name), "the login may not use the database"}
	}
	s.Original = s.Login
	s.DatabaseID = d.ID
	s.homeDB = d.ID
	return nil
}

// cannotOpen returns the error of a login whose database cannot be opened: 4064 for the default
// database, 4060 for a requested one.
func cannotOpen(l Login, database string) *mserr.Error {
	if l.Database == "" {
		return mserr.CannotOpenDefaultDatabase()
	}
	return mserr.CannotOpenDatabase(database)
}

// authenticateWindows finds the login of a verified ticket and chooses the database.
func (s *Session) authenticateWindows(snap *catalog.Snapshot, l Login) error {
	names := windowsNames(l.User, l.Realm, l.Foreign)
	for _, name := range names {
		login := snap.Login(name)
		switch {
		case login == nil || !login.Windows:
			continue
		case login.Disabled:
			return &LoginError{mserr.LoginFailed(names[0]), "the login is disabled"}
		}
		l.User = login.Name
		return s.openFor(snap, login, l)
	}
	return &LoginError{mserr.LoginFailed(names[0]), "could not find a login matching the name provided"}
}

// windowsNames returns the names by which a login may stand for a Kerberos principal: DOMAIN\user
// with the domain's NetBIOS name, which is by default the realm's first label, REALM\user and
// user@REALM. SQL Server asks Active Directory for the NetBIOS name.
//
// A foreign realm has its full name only: its first label may be that of the server's realm.
func windowsNames(user, realm string, foreign bool) []string {
	domain, _, _ := strings.Cut(realm, ".")
	if foreign {
		domain = realm
	}
	return []string{strings.ToUpper(domain) + `\` + user, realm + `\` + user, user + "@" + realm}
}

// MaxPassword is the maximum length of a password, in UTF-16 code units. LOGIN7 cannot carry a
// longer one (MS-TDS 2.2.6.4).
const MaxPassword = 128
