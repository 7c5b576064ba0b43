// Package importer converts jobs of other systems (Azure Scheduler, SAP Job Scheduling Service,
// SQL Server Agent, Windows Task Scheduler, Quartz, cron, Kubernetes, iCalendar) to the T-SQL that
// creates them in jobagent, and reports everything that could not be converted. The package is
// pure: it uses only its arguments, no clock and no connection.
//
// Three invariants hold. Each element of the input is converted or reported. The report and the
// script contain no secret of the input. A converted schedule has the due instants that its
// original system would have computed. See DESIGN.md.
package importer
