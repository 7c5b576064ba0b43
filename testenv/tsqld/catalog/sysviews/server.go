package sysviews

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"unicode/utf16"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// serverSets returns the system tables about the instance, its databases and sessions.
func serverSets() []declaration {
	return []declaration{
		{name: "sys.databases", rows: adding(databasesRows)},
		{name: "sys.database_service_objectives", rows: adding(databaseServiceObjectivesRows)},
		{name: "sys.dm_exec_sessions", live: true, rows: adding(sessions)},
		{name: "sys.dm_exec_connections", live: true, rows: adding(connections)},
		{name: "sys.dm_exec_requests", live: true, rows: adding(requests)},
		{name: "sys.dm_tran_locks", live: true, rows: lockRows},
		{name: "sys.dm_tran_session_transactions", live: true, rows: adding(transactions)},
		{name: "sys.spt_transactions", live: true, rows: adding(sptTransactionsRows)},
		{name: "sys.spt_sql_texts", live: true, rows: adding(sptSqlTextsRows)},
	}
}

// databasesRows are the rows of sys.databases.
func databasesRows(env *Env, add func(row)) {
	for _, d := range env.Snapshot.Databases() {
		add(databaseInfo(d))
	}
}

// databaseServiceObjectivesRows are the rows of sys.database_service_objectives.
func databaseServiceObjectivesRows(env *Env, add func(row)) {
	for _, d := range env.Snapshot.Databases() {
		if d.ID != env.Database.ID && env.Database.ID != catalog.DatabaseMaster {
			continue // a user database shows only itself
		}
		r := row{
			"database_id": int64(d.ID), "service_objective": "GP_Gen5_2",
			"elastic_pool_name": orNull(d.Options.ElasticPool),
		}
		if d.Options.ElasticPool != "" {
			r["service_objective"] = "ElasticPool"
		}
		add(r)
	}
}

// sptTransactionsRows are the rows of sys.spt_transactions.
func sptTransactionsRows(env *Env, add func(row)) {
	for _, s := range env.visibleSessions() {
		if s.OpenTransactions > 0 {
			add(row{
				"session_id": int64(s.ID), "transaction_id": s.TransactionID, "name": s.TransactionName,
				"begin_time": s.TransactionStart,
			})
		}
	}
}

// sptSqlTextsRows are the rows of sys.spt_sql_texts.
func sptSqlTextsRows(env *Env, add func(row)) {
	for _, s := range env.visibleSessions() {
		if s.Command != "" && s.Text != "" {
			add(row{"sql_handle": sqlHandle(s.Text), "text": s.Text})
		}
	}
}

// databaseInfo returns a row of sys.databases.
func databaseInfo(d *catalog.Database) row {
	o := d.Options
	access, accessName := int64(0), "MULTI_USER"
	if o.SingleUser {
		access, accessName = 1, "SINGLE_USER"
	} else if o.RestrictedUser {
		access, accessName = 2, "RESTRICTED_USER"
	}
	state, stateName := int64(0), "ONLINE"
	if o.Offline {
		state, stateName = 6, "OFFLINE"
	}
	snapshot, snapshotName := int64(0), "OFF"
	if o.AllowSnapshotIsolation {
		snapshot, snapshotName = 1, "ON"
	}
	r := row{
		"name": d.Name, "database_id": int64(d.ID), "owner_sid": d.OwnerID, "create_date": d.Created,
		"compatibility_level": int64(o.CompatibilityLevel), "collation_name": o.Collation,
		"user_access": access, "user_access_desc": accessName, "is_read_only": bit(o.ReadOnly),
		"state": state, "state_desc": stateName, "snapshot_isolation_state": snapshot,
		"snapshot_isolation_state_desc": snapshotName,
		"is_read_committed_snapshot_on": bit(o.ReadCommittedSnapshot),
		"recovery_model":                recoveryModels[d.Recovery()], "recovery_model_desc": d.Recovery(),
		"page_verify_option": int64(2), "page_verify_option_desc": "CHECKSUM",
		"is_parameterization_forced": bit(o.Other["PARAMETERIZATION"] == "FORCED"),
		"is_local_cursor_default":    bit(o.Other["CURSOR_DEFAULT"] == "LOCAL"),
		"is_ansi_nulls_on":           bit(o.AnsiNulls), "is_recursive_triggers_on": bit(o.RecursiveTriggers),
		"is_trustworthy_on": bit(o.Trustworthy), "delayed_durability": int64(0),
		"delayed_durability_desc": "DISABLED", "service_broker_guid": guid(d, "broker"),
		"physical_database_name":      d.Name,
		"is_mixed_page_allocation_on": bit(d.ID <= catalog.DatabaseMSDB && d.ID != catalog.DatabaseTemp),
	}
	switch o.Other["PAGE_VERIFY"] {
	case "NONE":
		r["page_verify_option"], r["page_verify_option_desc"] = int64(0), "NONE"
	case "TORN_PAGE_DETECTION":
		r["page_verify_option"], r["page_verify_option_desc"] = int64(1), "TORN_PAGE_DETECTION"
	}
	switch o.Other["DELAYED_DURABILITY"] {
	case "ALLOWED":
		r["delayed_durability"], r["delayed_durability_desc"] = int64(1), "ALLOWED"
	case "FORCED":
		r["delayed_durability"], r["delayed_durability_desc"] = int64(2), "FORCED"
	}
	for option, col := range optionColumns {
		r[col] = bit(d.On(option))
	}
	return r
}

// recoveryModels maps recovery models to the values of recovery_model.
var recoveryModels = map[string]int64{"FULL": 1, "BULK_LOGGED": 2, "SIMPLE": 3}

// optionColumns are the columns of sys.databases for ON/OFF options without an effect here.
var optionColumns = map[string]string{
	"AUTO_CLOSE": "is_auto_close_on", "AUTO_SHRINK": "is_auto_shrink_on",
	"AUTO_CREATE_STATISTICS":             "is_auto_create_stats_on",
	"AUTO_CREATE_STATISTICS_INCREMENTAL": "is_auto_create_stats_incremental_on",
	"AUTO_UPDATE_STATISTICS":             "is_auto_update_stats_on",
	"AUTO_UPDATE_STATISTICS_ASYNC":       "is_auto_update_stats_async_on",
	"ANSI_NULL_DEFAULT":                  "is_ansi_null_default_on",
	"ANSI_PADDING":                       "is_ansi_padding_on",
	"ANSI_WARNINGS":                      "is_ansi_warnings_on", "ARITHABORT": "is_arithabort_on",
	"CONCAT_NULL_YIELDS_NULL": "is_concat_null_yields_null_on",
	"NUMERIC_ROUNDABORT":      "is_numeric_roundabort_on", "QUOTED_IDENTIFIER": "is_quoted_identifier_on",
	"CURSOR_CLOSE_ON_COMMIT": "is_cursor_close_on_commit_on",
	"DB_CHAINING":            "is_db_chaining_on", "HONOR_BROKER_PRIORITY": "is_honor_broker_priority_on",
	"DATE_CORRELATION_OPTIMIZATION":        "is_date_correlation_on",
	"MEMORY_OPTIMIZED_ELEVATE_TO_SNAPSHOT": "is_memory_optimized_elevate_to_snapshot_on",
}

// visibleSessions returns the sessions that the session may see. Without VIEW SERVER STATE that is
// only itself.
func (env *Env) visibleSessions() []SessionRow {
	sessions := env.Sessions()
	if env.SeeSessions {
		return sessions
	}
	return sessions[:1]
}

// options returns the columns of dm_exec_sessions and dm_exec_requests about the session and its
// SET options.
func options(s SessionRow) row {
	o := s.Options
	defaults := o.AnsiNulls && o.AnsiNullDefault && o.AnsiPadding && o.AnsiWarnings && o.CursorClose && o.Implicit &&
		o.QuotedIdentifier
	r := row{
		"text_size": o.TextSize, "language": o.Language, "date_format": o.DateFormat, "date_first": int64(o.DateFirst),
		"quoted_identifier": bit(o.QuotedIdentifier),
		"arithabort":        bit(o.ArithAbort), "ansi_null_dflt_on": bit(o.AnsiNullDefault),
		"ansi_defaults": bit(defaults),
		"ansi_warnings": bit(o.AnsiWarnings),
		"ansi_padding":  bit(o.AnsiPadding), "ansi_nulls": bit(o.AnsiNulls),
		"concat_null_yields_null": bit(o.ConcatNull), "transaction_isolation_level": int64(o.Isolation),
		"lock_timeout": o.LockTimeout, "deadlock_priority": int64(o.DeadlockPriority), "row_count": s.RowCount,
		"open_transaction_count": int64(s.OpenTransactions),
		"database_id":            int64(s.DatabaseID), "session_id": int64(s.ID),
	}
	if o.ContextInfo != nil {
		r["context_info"] = o.ContextInfo
	}
	return r
}

// interfaceName truncates the name of a client library to client_interface_name: 32 characters, as
// documented.
func interfaceName(library string) string {
	units := utf16.Encode([]rune(library))
	return string(utf16.Decode(units[:min(len(units), 32)]))
}

// sessions are the rows of sys.dm_exec_sessions.
func sessions(env *Env, add func(row)) {
	for _, s := range env.visibleSessions() {
		r := options(s)
		for col, v := range map[string]types.Value{
			"login_time": s.LoginTime, "host_name": s.Host, "program_name": s.Program,
			"client_interface_name": interfaceName(s.Library), "host_process_id": int64(s.PID),
			"client_version": s.Version >> 28, "security_id": s.SID, "login_name": s.Login, "status": s.Status,
			"last_request_start_time": s.LastRequestStart, "last_request_end_time": orNull(s.LastRequestEnd),
			"original_security_id": s.SID, "original_login_name": s.OriginalLogin,
			"total_elapsed_time": s.Elapsed,
		} {
			r[col] = v
		}
		add(r)
	}
}

// connections are the rows of sys.dm_exec_connections.
func connections(env *Env, add func(row)) {
	for _, s := range env.visibleSessions() {
		r := row{
			"session_id": int64(s.ID), "most_recent_session_id": int64(s.ID), "connect_time": s.LoginTime,
			"protocol_version": s.Version, "encrypt_option": "FALSE", "net_packet_size": int64(s.PacketSize),
			"client_net_address": s.Address, "connection_id": s.ConnectionID,
		}
		if s.Encrypted {
			r["encrypt_option"] = "TRUE"
		}
		add(r)
	}
}

// requests are the rows of sys.dm_exec_requests: one for each session that executes a request.
func requests(env *Env, add func(row)) {
	for _, s := range env.visibleSessions() {
		if s.Command == "" {
			continue
		}
		r := options(s)
		for col, v := range map[string]types.Value{
			"start_time": s.LastRequestStart, "status": s.Status, "command": s.Command,
			"connection_id": s.ConnectionID, "blocking_session_id": int64(s.BlockedBy),
			"wait_type": orNull(s.WaitType), "wait_time": s.WaitTime, "wait_resource": s.WaitResource,
			"last_wait_type": s.WaitType, "transaction_id": s.TransactionID, "total_elapsed_time": s.Elapsed,
		} {
			r[col] = v
		}
		if s.Text != "" {
			r["sql_handle"] = sqlHandle(s.Text)
		}
		add(r)
	}
}

// sqlHandle returns the handle of a text. Equal texts have equal handles.
func sqlHandle(text string) []byte {
	sum := sha256.Sum256([]byte(text))
	return append([]byte{2, 0, 0, 0}, sum[:]...)
}

// transactions are the rows of sys.dm_tran_session_transactions: one for each session with an open
// transaction.
func transactions(env *Env, add func(row)) {
	for _, s := range env.visibleSessions() {
		if s.OpenTransactions == 0 {
			continue
		}
		add(row{
			"session_id": int64(s.ID), "transaction_id": s.TransactionID,
			"transaction_descriptor": binary.LittleEndian.AppendUint64(nil, uint64(s.TransactionID)),
			"enlist_count":           bit(s.Command != ""), "open_transaction_count": int64(s.OpenTransactions),
		})
	}
}

// lockRows are the rows of sys.dm_tran_locks, or error 300 without the permission.
func lockRows(_ context.Context, env *Env) ([]row, error) {
	if !env.SeeSessions {
		return nil, mserr.Of(300)
	}
	var out []row
	for _, l := range env.Locks() {
		r := row{
			"resource_type": "DATABASE", "resource_database_id": int64(l.DatabaseID), "request_mode": l.Mode,
			"request_status": "GRANT", "request_session_id": int64(l.SessionID), "request_owner_type": l.Owner,
			"resource_associated_entity_id": int64(0),
		}
		if l.Waiting {
			r["request_status"] = "WAIT"
		}
		if l.App {
			r["resource_type"] = "APPLICATION"
			r["resource_description"] = applicationResource(l)
		}
		if l.Object != 0 {
			r["resource_type"], r["resource_associated_entity_id"] = "KEY", int64(l.Object)
			r["resource_description"] = fmt.Sprintf("(%012x)", l.Row)
			if l.Heap {
				r["resource_type"] = "RID"
			}
		}
		out = append(out, r)
	}
	return out, nil
}

// applicationResource returns resource_description of an application lock: the principal ID, the
// first 32 characters of the name, and a hash of the whole name.
func applicationResource(l LockInfo) string {
	hash := uint32(2166136261)
	for i := range len(l.Application) {
		hash = (hash ^ uint32(l.Application[i])) * 16777619
	}
	name := []rune(l.Application)
	return formatResource(l.Principal, string(name[:min(len(name), 32)]), hash)
}

// formatResource formats principal:[name]:(hash).
func formatResource(principal int, name string, hash uint32) string {
	return fmt.Sprintf("%d:[%s]:(%08x)", principal, name, hash)
}
