package mssql

import (
	"regexp"
	"strings"
)

// announcement sets CONTEXT_INFO to the session's program_name, so that sys.dm_exec_sessions and
// sys.dm_exec_requests both name the job, and scripts and triggers can read it by CONTEXT_INFO().
// The text is the same for all attempts, so that the plans of a script's batches are found in the
// server's cache. The announcement is on the first line of the batch, without a line break, so that
// the lines in messages stay the same.
const announcement = "DECLARE @jobagent_context VARBINARY(128) = CAST(CAST(APP_NAME() AS VARCHAR(128)) AS VARBINARY(128)); " +
	"SET CONTEXT_INFO @jobagent_context; "

// The values of SERVERPROPERTY('EngineEdition')
// (https://learn.microsoft.com/sql/t-sql/functions/serverproperty-transact-sql) of products with
// SET CONTEXT_INFO.
const (
	editionStandard   = 2
	editionEnterprise = 3
	editionExpress    = 4
	editionAzure      = 5 // Azure SQL Database
	editionManaged    = 8 // Azure SQL Managed Instance
)

// announceTo reports whether SET CONTEXT_INFO is documented for an edition: "SQL Server, Azure SQL
// Database, Azure SQL Managed Instance"
// (https://learn.microsoft.com/sql/t-sql/statements/set-context-info-transact-sql). Any other
// server, such as Azure Synapse Analytics (6, 11), may refuse the whole batch.
func announceTo(edition int) bool {
	switch edition {
	case editionStandard, editionEnterprise, editionExpress, editionAzure, editionManaged:
		return true
	}
	return false
}

// announceable matches the beginnings of batches before which other statements may be put. Other
// batches are not changed: a procedure's name without EXECUTE, CREATE PROCEDURE and the like must
// be the first statement of a batch, and SET SHOWPLAN must be the only one.
var announceable = regexp.MustCompile(`(?i)^;*\s*(?:` +
	`(?:SELECT|INSERT|UPDATE|DELETE|MERGE|WITH|EXEC|EXECUTE|IF|BEGIN|DECLARE|USE|PRINT|TRUNCATE|DROP|WAITFOR|RAISERROR|WHILE|GRANT|DENY|REVOKE|DBCC)\b` +
	`|(?:CREATE|ALTER)\s+(?:TABLE|INDEX|UNIQUE|CLUSTERED|NONCLUSTERED|TYPE|USER|ROLE|STATISTICS|SEQUENCE|SYNONYM)\b` +
	`|SET\s+(?:@|(?:NOCOUNT|XACT_ABORT|LOCK_TIMEOUT|QUOTED_IDENTIFIER|ANSI_\w+|TRANSACTION|DEADLOCK_PRIORITY|DATEFORMAT|DATEFIRST|LANGUAGE|IDENTITY_INSERT|ARITHABORT)\b))`)

// announced returns the batch with the announcement before it, or the unchanged batch.
func announced(batch string) (text string, done bool) { return prefixed(announcement, batch) }

// prefixed returns the batch with statements before it, or the unchanged batch if it must be the
// first in its packet.
func prefixed(statements, batch string) (text string, done bool) {
	for pos := 0; pos < len(batch); {
		r := nextRegion(batch, pos)
		pos = r.end
		piece := strings.TrimSpace(batch[r.start:r.end])
		if r.kind == regionLineComment || r.kind == regionBlockComment || piece == "" {
			continue
		}
		if r.kind != regionCode || !announceable.MatchString(piece) {
			break
		}
		return statements + batch, true
	}
	return batch, false
}
