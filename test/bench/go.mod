module github.com/gohaul/haul/test/bench

go 1.26.0

require github.com/gohaul/haul v0.0.0-00010101000000-000000000000

require golang.org/x/sys v0.50.0 // indirect

replace github.com/gohaul/haul => ../..
