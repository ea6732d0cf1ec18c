package main

// row is one kind of work on one file system.
type row struct {
	group   string // the plot it belongs to, and the first part of its name
	variant string
	fs      string
	work    string // the words
	measure func(*measure) error
}

func (r row) name() string {
	if r.variant != "" {
		return r.group + "/" + r.variant + "/" + r.fs
	}
	return r.group + "/" + r.fs
}

// rows is the table: every promise of speed, in the order it is written down.
func rows() []row {
	var rs []row
	add := func(group, variant, work string, measure func(*measure) error, fss ...string) {
		for _, fs := range fss {
			rs = append(rs, row{group, variant, fs, work, measure})
		}
	}
	add("small", "warm", "50,000 x 10 KiB, warm", smallWarm, "ext4", "xfs", "btrfs", "tmpfs")
	add("small", "cold", "50,000 x 10 KiB, cold", smallCold, "ext4", "xfs", "btrfs")
	add("gotree", "warm", "Go's source tree, warm", goTreeWarm, "ext4", "xfs", "btrfs", "tmpfs")
	add("gotree", "cold", "Go's source tree, cold", goTreeCold, "ext4", "xfs")
	add("dense", "", "one dense 2 GiB file", dense, "ext4", "xfs", "btrfs")
	add("tebibyte", "", "1 TiB apparent, 8 KiB of data", tebibyte, "ext4", "xfs", "btrfs")
	add("always", "", "sparse-always, 1 GiB random", always, "ext4", "xfs")
	add("inplace", "", "in place, 1 GiB, 1% of blocks changed", inPlace, "ext4", "xfs")
	add("overwrite", "", "overwrite 748,000 bytes 200 times", overwrite, "ext4", "tmpfs", "xfs", "btrfs")
	add("batch", "", "50,000 x 10 KiB, made durable", batch, "ext4", "xfs")
	add("again", "", "50,000 x 10 KiB, second copy", again, "ext4", "xfs")
	add("start", "", "one small file", start, "ext4", "xfs")
	add("million", "1000-dirs", "1,000,000 files in 1,000 directories", million(1000), "ext4")
	add("million", "one-dir", "1,000,000 files in one directory", million(1), "ext4")
	return rs
}
