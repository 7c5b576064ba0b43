package exec

import (
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
)

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

// authenticateWindows finds the login of a verified ticket and chooses the database.
func (s *core) authenticateWindows(snap *catalog.Snapshot, l Login) error {
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

// newWindowsLogin returns the login of a CREATE LOGIN ... FROM WINDOWS without its options.
func newWindowsLogin(st *syntax.LoginStmt) (*catalog.Login, error) {
	name := st.Name.Name
	if !strings.ContainsAny(name, `\@`) {
		return nil, mserr.New(15407, 16, `'%s' is not a valid Windows NT name. Give the complete name: <domain\username>.`, name)
	}
	return &catalog.Login{Name: name, DefaultDatabase: "master", Windows: true}, nil
}
