// Package elastic is the surface of Azure's Elastic Jobs: Microsoft.Sql/servers/jobAgents and what
// is below it in Azure Resource Manager.
//
// Handlers translate between ARM's JSON and methods of controldb, and decide nothing. DESIGN.md
// has the mapping.
package elastic
