import classes from "./Sparkline.module.css";

/** Sparkline draws counts as small bars, the unsuccessful share of each in the colour of errors. */
export function Sparkline({ totals, errors, label }: { totals: number[]; errors: number[]; label: string }) {
	const highest = Math.max(...totals, 1);
	return (
		<svg className={classes.sparkline} viewBox={`0 0 ${totals.length * 4} 20`} preserveAspectRatio="none" role="img" aria-label={label}>
			<path className={classes.base} d={`M0 19.5H${totals.length * 4}`} />
			{totals.map((total, index) => {
				const height = total === 0 ? 0 : Math.max(1.5, (19 * total) / highest);
				const bad = total === 0 ? 0 : (height * (errors[index] ?? 0)) / total;
				return (
					// biome-ignore lint/suspicious/noArrayIndexKey: a bar is its place
					<g key={index}>
						{height > bad && <rect className={classes.good} x={index * 4} y={19.5 - height} width={3} height={height - bad} />}
						{bad > 0 && <rect className={classes.bad} x={index * 4} y={19.5 - bad} width={3} height={bad} />}
					</g>
				);
			})}
		</svg>
	);
}
