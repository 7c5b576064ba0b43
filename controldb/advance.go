package controldb

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/internal/call"
)

// AdvanceStatus is the row of the view jobs_internal.advance_status: whether passes advance
// executions.
type AdvanceStatus struct {
	// LastAdvancedAt is when a pass of any agent last advanced executions, to within a second.
	LastAdvancedAt time.Time `db:"last_advanced_at"`
	// SkippedSince is set when executions are active and an agent is live, yet no pass has advanced
	// executions for ten seconds or more; it is the time since when. Zero otherwise.
	SkippedSince time.Time `db:"skipped_since"`
	// UnfiredSince is set when an agent is live and the job agent permits firings, yet a schedule
	// has been due for a minute or more; it is the time since when. Zero otherwise.
	UnfiredSince time.Time `db:"unfired_since"`
}

// AdvanceStatus reads the view jobs_internal.advance_status.
func (s *Store) AdvanceStatus(ctx context.Context) (AdvanceStatus, error) {
	ctx, cancel := s.conn.Bounded(ctx)
	defer cancel()
	status, err := ReadAdvanceStatus(ctx, call.DB(s.conn))
	if err != nil {
		return AdvanceStatus{}, dberror.TranslateCall(ctx, "read the advance status", err)
	}
	return status, nil
}

// ReadAdvanceStatus is AdvanceStatus without translation of errors. The view has no row in a
// database whose row of advance_state is missing.
func ReadAdvanceStatus(ctx context.Context, db call.Queryer) (AdvanceStatus, error) {
	rows, err := call.SelectRows[AdvanceStatus](
		ctx,
		db,
		"SELECT last_advanced_at, skipped_since, unfired_since FROM jobs_internal.advance_status;",
	)
	if err != nil || len(rows) == 0 {
		return AdvanceStatus{}, err
	}
	return rows[0], nil
}

// LockHolder is a session that holds the application lock of passes (jobagent.advance).
type LockHolder struct {
	SessionID int `db:"session_id"`
	// Login, Program and Host are empty when the login may not see other sessions.
	Login   string `db:"login_name"`
	Program string `db:"program_name"`
	Host    string `db:"host_name"`
}

// String describes the session for logs and messages.
func (h LockHolder) String() string {
	if h.Login == "" {
		return fmt.Sprintf(
			"session %d (its login and program are not visible without the permission VIEW SERVER STATE)",
			h.SessionID,
		)
	}
	return fmt.Sprintf("session %d of login %s, program %q on host %q", h.SessionID, h.Login, h.Program, h.Host)
}

// AdvanceLockHolders lists the sessions that hold the application lock of passes. visible is false
// when the login may not see locks, which needs VIEW SERVER STATE (since SQL Server 2022 VIEW
// SERVER PERFORMANCE STATE; in Azure SQL Database VIEW DATABASE STATE;
// https://learn.microsoft.com/sql/relational-databases/system-dynamic-management-views/sys-dm-tran-locks-transact-sql).
// The list is empty when the lock has been released meanwhile.
func (s *Store) AdvanceLockHolders(ctx context.Context) (holders []LockHolder, visible bool, err error) {
	ctx, cancel := s.conn.Bounded(ctx)
	defer cancel()
	holders, visible, err = ReadLockHolders(ctx, call.DB(s.conn))
	if err != nil {
		return nil, false, dberror.TranslateCall(ctx, "list the holders of the lock of passes", err)
	}
	return holders, visible, nil
}

// ReadLockHolders is AdvanceLockHolders without translation of errors.
func ReadLockHolders(ctx context.Context, db call.Queryer) (holders []LockHolder, visible bool, err error) {
	// resource_description is principal:[name]:(hash); [[] matches a bracket in LIKE. A login sees
	// the role only as a member, or with ALTER ANY ROLE
	// (https://learn.microsoft.com/sql/relational-databases/system-catalog-views/sys-database-principals-transact-sql);
	// for others, the name alone counts.
	holders, err = call.SelectRows[LockHolder](
		ctx,
		db,
		`SELECT DISTINCT l.request_session_id AS session_id, s.login_name, s.program_name, s.host_name
FROM sys.dm_tran_locks AS l
LEFT JOIN sys.dm_exec_sessions AS s ON s.session_id = l.request_session_id
WHERE l.resource_type = N'APPLICATION'
    AND l.resource_database_id = DB_ID()
    AND l.request_status = N'GRANT'
    AND l.resource_description LIKE CONCAT(COALESCE(CAST(DATABASE_PRINCIPAL_ID(N'jobs_agent') AS NVARCHAR(11)), N'%'), N':[[]jobagent.advance]:%')
ORDER BY session_id;`)
	if e, ok := dberror.ServerError(err); ok && dberror.IsDenied(e.Number) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	return holders, true, nil
}

// DescribeAdvanceLock describes the sessions that hold the lock of passes, for logs and messages.
// If they cannot be determined, the description says so.
func (s *Store) DescribeAdvanceLock(ctx context.Context) string {
	holders, visible, err := s.AdvanceLockHolders(ctx)
	if err != nil {
		return fmt.Sprintf("unknown: %v", err)
	}
	return DescribeHolders(holders, visible)
}

// DescribeHolders returns a text about the holders of the lock.
func DescribeHolders(holders []LockHolder, visible bool) string {
	switch {
	case !visible:
		return "not visible to this login without the permission VIEW SERVER STATE (VIEW DATABASE STATE in Azure SQL Database)"
	case len(holders) == 0:
		return "no session at the moment"
	}
	list := make([]string, 0, len(holders))
	for _, h := range holders {
		list = append(list, h.String())
	}
	return strings.Join(list, "; ")
}
