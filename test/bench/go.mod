module github.com/gohaul/haul/test/bench

go 1.26.0

replace github.com/gohaul/haul => ../..
