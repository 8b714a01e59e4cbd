/// A cron expression.
public struct CronExpression: Hashable, Sendable {}
