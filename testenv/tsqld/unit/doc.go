// Package unit has parsed texts with the plans of their statements. A [Unit] is the text of a
// batch, of dynamic SQL, or of a module. All sessions share units.
//
// A plan depends on the session's view of the catalog, its options and the [Scope] of the
// statement. A unit keeps a few variants of each plan and finds the one that fits:
//
//	u, err := cache.Batch(meter, text, true)
//	if plan := u.Find(s, scope, key); plan == nil {
//		plan, needs := compile…
//		u.Keep(s, scope, key, plan, needs)
//	}
//
// A database that was created from an image runs the procedures and functions of the image with the
// plans that all databases of the image share, until its definitions change: see [Unit.Share].
//
// # Common mistakes
//
// Changing a tree or a plan after Keep: other sessions use it at the same time.
//
// Adding a setting on which the compiler depends without comparing it in cachedPlan.fits: sessions
// then get plans of other settings.
package unit
