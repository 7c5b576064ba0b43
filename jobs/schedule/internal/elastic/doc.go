// Package elastic is the dialect of Azure Elastic Jobs: elapsed intervals and calendar months from
// an anchor, in UTC.
package elastic
