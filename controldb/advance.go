package controldb

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// AdvanceStatus says whether executions move on.
type AdvanceStatus struct {
	// LastAdvancedAt is when a pass of any agent has last moved executions on, give or take a second.
	LastAdvancedAt time.Time
	// SkippedSince is since when executions are active, an agent is alive, and yet no pass has moved them on, if that is ten seconds
	// or more; zero: all is well.
	SkippedSince time.Time
}

// querier is a connection, or a pool of them.
type querier interface {
	SelectContext(ctx context.Context, dest any, query string, args ...any) error
}

// AdvanceStatus reads the view jobs_internal.advance_status.
func (s *Store) AdvanceStatus(ctx context.Context) (AdvanceStatus, error) {
	ctx, cancel := s.bounded(ctx)
	defer cancel()
	status, err := readAdvanceStatus(ctx, s.db)
	if err != nil {
		return AdvanceStatus{}, translateCall(ctx, "read whether executions move on", err)
	}
	return status, nil
}

// readAdvanceStatus is AdvanceStatus without translation of errors.
func readAdvanceStatus(ctx context.Context, db querier) (AdvanceStatus, error) {
	var rows []struct {
		Last    nullTime `db:"last_advanced_at"`
		Skipped nullTime `db:"skipped_since"`
	}
	err := db.SelectContext(ctx, &rows, "SELECT last_advanced_at, skipped_since FROM jobs_internal.advance_status;")
	if err != nil || len(rows) == 0 {
		return AdvanceStatus{}, err
	}
	return AdvanceStatus{LastAdvancedAt: rows[0].Last.Time, SkippedSince: rows[0].Skipped.Time}, nil
}

// LockHolder is a session that holds the application lock of passes.
type LockHolder struct {
	SessionID int
	// Login, Program and Host are empty when the login may not see other sessions.
	Login, Program, Host string
}

// String is for logs and people.
func (h LockHolder) String() string {
	if h.Login == "" {
		return fmt.Sprintf("session %d (its login and program are not visible without the right VIEW SERVER STATE)", h.SessionID)
	}
	return fmt.Sprintf("session %d of login %s, program %q on host %q", h.SessionID, h.Login, h.Program, h.Host)
}

// AdvanceLockHolders tells which sessions hold the application lock of passes. visible is false when the login may not see locks: that
// takes the right VIEW SERVER STATE (VIEW SERVER PERFORMANCE STATE since SQL Server 2022, VIEW DATABASE STATE in Azure SQL Database;
// https://learn.microsoft.com/sql/relational-databases/system-dynamic-management-views/sys-dm-tran-locks-transact-sql).
// There is none when the lock was released meanwhile.
func (s *Store) AdvanceLockHolders(ctx context.Context) (holders []LockHolder, visible bool, err error) {
	ctx, cancel := s.bounded(ctx)
	defer cancel()
	holders, visible, err = readLockHolders(ctx, s.db)
	if err != nil {
		return nil, false, translateCall(ctx, "look who holds the lock of passes", err)
	}
	return holders, visible, nil
}

// readLockHolders is AdvanceLockHolders without translation of errors.
func readLockHolders(ctx context.Context, db querier) (holders []LockHolder, visible bool, err error) {
	var rows []struct {
		SessionID int      `db:"session_id"`
		Login     nullText `db:"login_name"`
		Program   nullText `db:"program_name"`
		Host      nullText `db:"host_name"`
	}
	// The description is principal:[name]:(hash); [[] is a bracket for LIKE.
	err = db.SelectContext(ctx, &rows, `SELECT DISTINCT l.request_session_id AS session_id, s.login_name, s.program_name, s.host_name
FROM sys.dm_tran_locks AS l
LEFT JOIN sys.dm_exec_sessions AS s ON s.session_id = l.request_session_id
WHERE l.resource_type = N'APPLICATION'
    AND l.resource_database_id = DB_ID()
    AND l.request_status = N'GRANT'
    AND l.resource_description LIKE CONCAT(DATABASE_PRINCIPAL_ID(N'jobs_agent'), N':[[]jobagent.advance]:%')
ORDER BY session_id;`)
	if e, ok := sqlError(err); ok && isDenied(e.Number) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	for _, r := range rows {
		holders = append(holders, LockHolder{r.SessionID, string(r.Login), string(r.Program), string(r.Host)})
	}
	return holders, true, nil
}

// DescribeAdvanceLock says in a few words who holds the lock of passes, for logs and people. That this cannot be told is part of the answer.
func (s *Store) DescribeAdvanceLock(ctx context.Context) string {
	holders, visible, err := s.AdvanceLockHolders(ctx)
	if err != nil {
		return fmt.Sprintf("unknown: %v", err)
	}
	return describeHolders(holders, visible)
}

// describeHolders says who holds the lock.
func describeHolders(holders []LockHolder, visible bool) string {
	switch {
	case !visible:
		return "not visible to this login without the right VIEW SERVER STATE (VIEW DATABASE STATE in Azure SQL Database)"
	case len(holders) == 0:
		return "nobody at the moment"
	}
	list := make([]string, 0, len(holders))
	for _, h := range holders {
		list = append(list, h.String())
	}
	return strings.Join(list, "; ")
}
