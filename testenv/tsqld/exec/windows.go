package exec

import (
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
)

// newWindowsLogin returns the login of a CREATE LOGIN ... FROM WINDOWS without its options.
func newWindowsLogin(st *syntax.LoginStmt) (*catalog.Login, error) {
	name := st.Name.Name
	if !strings.ContainsAny(name, `\@`) {
		return nil, mserr.New(15407, 16, `'%s' is not a valid Windows NT name. Give the complete name: <domain\username>.`, name)
	}
	return &catalog.Login{Name: name, DefaultDatabase: "master", Windows: true}, nil
}
