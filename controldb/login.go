package controldb

import (
	"context"

	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/internal/call"
)

// Login is who a connection is on the control database, and what runs there.
type Login struct {
	Login         string   // of the server
	User          string   // of the database
	Roles         []string // of jobagent, or db_owner; nil if the user is in none
	ServerVersion string   // such as 16.0.4135.4
	Edition       string
}

// Login asks who the connection's login is. It works without any role, and before the schema is
// installed.
func (s *Store) Login(ctx context.Context) (Login, error) {
	ctx, cancel := s.conn.Bounded(ctx)
	defer cancel()
	row, err := call.SelectOne[struct {
		Login    string `db:"login_name"`
		User     string `db:"user_name"`
		Version  string `db:"server_version"`
		Edition  string `db:"edition"`
		Owner    bool   `db:"is_owner"`
		Admin    bool   `db:"is_admin"`
		Author   bool   `db:"is_author"`
		Operator bool   `db:"is_operator"`
		Reader   bool   `db:"is_reader"`
		Agent    bool   `db:"is_agent"`
	}](ctx, call.DB(s.conn), `SELECT
    ORIGINAL_LOGIN() AS login_name,
    USER_NAME() AS user_name,
    CAST(SERVERPROPERTY('ProductVersion') AS nvarchar(128)) AS server_version,
    CAST(SERVERPROPERTY('Edition') AS nvarchar(128)) AS edition,
    -- NULL means that there is no such role.
    CAST(COALESCE(IS_ROLEMEMBER(N'db_owner'), 0) AS bit) AS is_owner,
    CAST(COALESCE(IS_ROLEMEMBER(N'jobs_admin'), 0) AS bit) AS is_admin,
    CAST(COALESCE(IS_ROLEMEMBER(N'jobs_author'), 0) AS bit) AS is_author,
    CAST(COALESCE(IS_ROLEMEMBER(N'jobs_operator'), 0) AS bit) AS is_operator,
    CAST(COALESCE(IS_ROLEMEMBER(N'jobs_reader'), 0) AS bit) AS is_reader,
    CAST(COALESCE(IS_ROLEMEMBER(N'jobs_agent'), 0) AS bit) AS is_agent;`)
	if err != nil {
		return Login{}, dberror.TranslateCall(ctx, "ask for the login", err)
	}
	l := Login{Login: row.Login, User: row.User, ServerVersion: row.Version, Edition: row.Edition}
	for _, r := range []struct {
		name   string
		member bool
	}{
		{"db_owner", row.Owner}, {"jobs_admin", row.Admin}, {"jobs_author", row.Author}, {"jobs_operator", row.Operator},
		{"jobs_reader", row.Reader}, {"jobs_agent", row.Agent},
	} {
		if r.member {
			l.Roles = append(l.Roles, r.name)
		}
	}
	return l, nil
}
