package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/identity"
	"github.com/jobagent/jobagent/controldb/installed"
	"github.com/jobagent/jobagent/controldb/internal/call"
)

// readIdentity reads the identity of the control database for checks. It returns false if the
// schema is older.
func readIdentity(ctx context.Context, e *examination) (identity.Identity, bool, error) {
	version, err := installed.ReadVersion(ctx, e.conn)
	if errors.Is(err, dberror.ErrNotInstalled) || err == nil && version < identity.SinceVersion {
		return identity.Identity{}, false, nil
	}
	if err != nil {
		return identity.Identity{}, false, err
	}
	list, err := call.SelectRows[identity.Identity](ctx, e.conn, identity.ReadText)
	if err != nil || len(list) != 1 {
		return identity.Identity{}, false, err
	}
	return list[0], true, nil
}

// checkPause reports a pause of the control database.
func checkPause(ctx context.Context, e *examination) ([]Finding, error) {
	i, ok, err := readIdentity(ctx, e)
	if err != nil || !ok {
		return nil, err
	}
	if !i.Paused() {
		return []Finding{good(CodePause, "the control database is not paused; its incarnation is %s", i.Incarnation)}, nil
	}
	return []Finding{{
		Code: CodePause, Severity: SeverityError,
		Found: fmt.Sprintf("the control database (incarnation %s) is paused since %s by %s: %s",
			i.Incarnation, i.PausedAt.Format(time.RFC3339), i.PausedBy, cmp.Or(i.PauseReason, "no reason given")),
		Why:     "no schedule fires, no run starts, and agents claim nothing",
		Command: "jobagent db resume; after a restore first jobagent db after-restore, which lists what would start",
	}}, nil
}

// placeFacts are the facts by which jobs_internal.check_place finds out that the database was
// restored or copied, as this login sees them.
type placeFacts struct {
	Created bool `db:"has_created"`
	Fork    bool `db:"has_fork"`
}

// placeText reads [placeFacts]. Azure SQL Database has no sys.database_recovery_status.
const placeText = `SELECT
    CAST(CASE WHEN EXISTS (SELECT 1 FROM sys.databases AS d WHERE d.name = DB_NAME() AND d.create_date IS NOT NULL) THEN 1 ELSE 0 END AS BIT) AS has_created,
    CAST(CASE WHEN EXISTS (SELECT 1 FROM sys.database_recovery_status AS r WHERE r.database_id = DB_ID() AND r.recovery_fork_guid IS NOT NULL) THEN 1 ELSE 0 END AS BIT) AS has_fork;`

const azurePlaceText = `SELECT
    CAST(CASE WHEN EXISTS (SELECT 1 FROM sys.databases AS d WHERE d.name = DB_NAME() AND d.create_date IS NOT NULL) THEN 1 ELSE 0 END AS BIT) AS has_created,
    CAST(1 AS BIT) AS has_fork;`

// checkPlace checks that the login sees the facts by which a restore or a copy is found. Agents
// compare those that their login sees.
func checkPlace(ctx context.Context, e *examination) ([]Finding, error) {
	if _, ok, err := readIdentity(ctx, e); err != nil || !ok {
		return nil, err
	}
	text := placeText
	if e.database.EngineEdition == EditionAzureDatabase {
		text = azurePlaceText
	}
	list, err := call.SelectRows[placeFacts](ctx, e.conn, text)
	if err != nil || len(list) != 1 {
		return nil, err
	}
	return placeFindings(list[0]), nil
}

// placeFindings judges the facts.
func placeFindings(f placeFacts) []Finding {
	missing := ""
	switch {
	case f.Created && f.Fork:
		return []Finding{good(CodePlace, "a login with the rights of this one finds out that the database was restored or copied")}
	case f.Created:
		missing = "sys.database_recovery_status.recovery_fork_guid"
	case f.Fork:
		missing = "sys.databases.create_date"
	default:
		missing = "sys.databases.create_date and sys.database_recovery_status.recovery_fork_guid"
	}
	return []Finding{{
		Code: CodePlace, Severity: SeverityWarning,
		Found: "the login does not see " + missing + " of the database",
		Why:   "an agent with this login does not find every restore, so that a restored control database may start runs again",
		SQL:   "USE master; GRANT VIEW ANY DATABASE TO public; -- what SQL Server grants by default",
	}}
}
