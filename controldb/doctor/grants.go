package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jmoiron/sqlx"

	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/installed"
	"github.com/jobagent/jobagent/controldb/internal/call"
	"github.com/jobagent/jobagent/jobs/tsql"
	"github.com/jobagent/jobagent/jobs/wording"
	sqlfs "github.com/jobagent/jobagent/sql"
)

// heldGrant is a permission that a role of jobagent has in the database, or that is denied to it.
type heldGrant struct {
	Permission string `db:"permission_name"`
	Class      string `db:"class"`
	Name       string `db:"name"`
	Column     string `db:"column_name"` // empty for the whole object
	Role       string `db:"role_name"`
	// State is G (granted), W (with the right to grant it) or D (denied).
	State string `db:"state"`
	// Known is true if a file grants the permission.
	Known bool `db:"-"`
}

// grant returns the permission as the files of roles give it.
func (h heldGrant) grant() sqlfs.Grant {
	return sqlfs.Grant{Permission: h.Permission, Class: h.Class, Name: h.Name, Role: h.Role}
}

// on is grantOn with the column.
func (h heldGrant) on() string {
	if h.Column == "" {
		return grantOn(h.grant())
	}
	return grantOn(h.grant()) + " (" + tsql.Name(h.Column) + ")"
}

// grantOn returns a permission and its securable, as in "SELECT ON OBJECT::[jobs].[jobs]".
func grantOn(g sqlfs.Grant) string {
	return fmt.Sprintf("%s ON %s::%s", g.Permission, g.Class, tsql.Name(strings.Split(g.Name, ".")...))
}

// grantDifferences are the differences between the permissions of the roles and their files.
type grantDifferences struct {
	missing []sqlfs.Grant
	extra   []heldGrant // granted beyond the files
	denied  []heldGrant // denied, which takes precedence over what the files grant
}

// compareGrants compares the permissions of the roles of this program with their files. A role that
// is not in the files is of somebody else.
func compareGrants(ctx context.Context, db call.Queryer) (grantDifferences, error) {
	var d grantDifferences
	want, err := sqlfs.Grants()
	if err != nil {
		return d, fmt.Errorf("read the embedded schema: %w", err)
	}
	held, err := call.SelectRows[heldGrant](ctx, db, Text("grants"))
	if err != nil {
		return d, err
	}
	roles := map[string]bool{}
	missing := map[sqlfs.Grant]bool{}
	for _, g := range want {
		roles[g.Role], missing[g] = true, true
	}
	for _, h := range held {
		if !roles[h.Role] {
			continue
		}
		g := h.grant()
		if _, h.Known = missing[g]; h.Known && h.Column == "" {
			missing[g] = false
		} else {
			h.Known = false
		}
		switch {
		case h.State == "D":
			d.denied = append(d.denied, h)
		case !h.Known || h.State == "W":
			d.extra = append(d.extra, h)
		}
	}
	for _, g := range want {
		if missing[g] && !slices.Contains(d.missing, g) {
			d.missing = append(d.missing, g)
		}
	}
	return d, nil
}

// statements returns the T-SQL that makes the permissions those of the files. A DENY stays: an
// administrator has set it.
func (d grantDifferences) statements() []string {
	var list []string
	for _, h := range d.extra {
		list = append(list, fixRevoke(h.on(), h.Role, h.State == "W", h.Known))
	}
	for _, g := range d.missing {
		list = append(list, fixGrant(grantOn(g), g.Role))
	}
	return slices.Compact(list)
}

// RestoreGrants makes the permissions of the roles those of their files, which only grant: a
// permission that a release does not give any more, or that somebody has added, is revoked. What
// other principals have stays.
func RestoreGrants(ctx context.Context, tx *sqlx.Tx) error {
	const op = "compare the permissions of the roles"
	d, err := compareGrants(ctx, tx)
	if err != nil {
		return dberror.Translate(op, err)
	}
	statements := d.statements()
	if len(statements) == 0 {
		return nil
	}
	_, err = tx.ExecContext(ctx, strings.Join(statements, "\n"))
	return dberror.Translate("restore the permissions of the roles", err)
}

// checkGrants compares the permissions of the roles with their files.
func checkGrants(ctx context.Context, e *examination) ([]Finding, error) {
	if _, err := installed.ReadVersion(ctx, e.conn); errors.Is(err, dberror.ErrNotInstalled) {
		return nil, nil
	}
	d, err := compareGrants(ctx, e.conn)
	if err != nil {
		return nil, err
	}
	var found []Finding
	if len(d.extra) > 0 {
		var names []string
		for _, h := range d.extra {
			names = append(names, h.Role+": "+grantOn(h.grant()))
		}
		found = append(found, Finding{Code: CodeGrants, Severity: SeverityWarning,
			Found: fmt.Sprintf("roles have %s beyond their files (%s)", wording.Count(len(names), "permission"), wording.First(names)),
			Why:   "members of the roles may do more than their documentation says; jobagent db migrate revokes it, too",
			SQL:   strings.Join(grantDifferences{extra: d.extra}.statements(), "\n")})
	}
	if len(d.missing) > 0 {
		var names []string
		for _, g := range d.missing {
			names = append(names, g.Role+": "+grantOn(g))
		}
		found = append(found, Finding{Code: CodeGrants, Severity: SeverityError,
			Found: fmt.Sprintf("roles lack %s (%s)", wording.Count(len(names), "permission"), wording.First(names)),
			Why:   "calls of members of the roles fail (error 229); jobagent db migrate grants it, too",
			SQL:   strings.Join(grantDifferences{missing: d.missing}.statements(), "\n")})
	}
	if len(d.denied) > 0 {
		var names, fix []string
		for _, h := range d.denied {
			names = append(names, h.Role+": "+grantOn(h.grant()))
			if h.Known {
				fix = append(fix, fixGrant(h.on(), h.Role)) // takes the DENY back
			} else {
				fix = append(fix, fixRevoke(h.on(), h.Role, false, false))
			}
		}
		found = append(found, Finding{Code: CodeGrants, Severity: SeverityWarning,
			Found: fmt.Sprintf("%s denied to roles (%s)", wording.Count(len(names), "permission"), wording.First(names)),
			Why:   "a DENY takes precedence over what the roles give, also for members of other roles",
			SQL:   strings.Join(fix, "\n")})
	}
	if len(found) == 0 {
		found = append(found, good(CodeGrants, "the roles have exactly the permissions of their files"))
	}
	return found, nil
}
