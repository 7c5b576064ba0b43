// Package sap is the dialect of SAP Job Scheduling Service: cron of seven fields, repeatInterval,
// repeatAt and time.
package sap
