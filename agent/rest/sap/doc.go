// Package sap is the surface of SAP Job Scheduling Service's REST API. SAP's client
// @sap/jobs-client works against it unchanged.
//
// A service instance is a control database with an entry in the configuration (Instance). A tenant
// is a column in it. The verified credential alone gives the tenant of a call; a call of the
// provider may see all tenants. The package translates between JSON and methods of controldb: it
// reads grammars (filter, search, paging), checks bodies with SAP's texts, and writes answers in
// the forms of SAP. See DESIGN.md.
//
// The decisions S-n are those of the specification of actions and of SAP's API.
package sap
