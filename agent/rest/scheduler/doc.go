// Package scheduler is the ARM API of Azure Scheduler (Microsoft.Scheduler/jobCollections): job
// collections, their jobs, runs and histories. Microsoft's client azure-arm-scheduler works against
// it unchanged.
//
// A job collection is a row of the control database, and its jobs are jobs of it: see
// sql/DESIGN.md, "Job collections". Handlers translate between the JSON of the API and methods of
// controldb. The procedures decide; this package checks what T-SQL cannot read: recurrences,
// definitions of actions, certificates. It seals the secrets of requests, and has no way to read
// them back.
package scheduler
