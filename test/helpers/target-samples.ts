/** Settings of a target that sends to a host and a port, for every type that sends over the network. */
export const networkTargets = (host: string, port: number, scheme = 'http') => {
  const url = `${scheme}://${host}:${port}/in`;
  const keys = {
    awsAuthenticationMethod: 'manual',
    awsApiKey: 'AKIDEXAMPLE0000001',
    awsSecretKey: 's3cret',
  };
  return [
    { id: 'webhook', type: 'webhook', url },
    { id: 'slack', type: 'slack', slackUrl: url },
    { id: 'pager_duty', type: 'pager_duty', url, routingKey: '0'.repeat(32), severity: 'error' },
    {
      ...{
        id: 'sns',
        type: 'sns',
        endpoint: `${scheme}://${host}:${port}`,
        region: 'eu-west-1',
        maxRetries: 0,
      },
      ...{ destinationType: 'topic', topicArn: 'arn:aws:sns:eu-west-1:1:a', messageGroupId: '', ...keys },
    },
    {
      ...{ id: 'smtp', type: 'smtp', host, port, from: 'a@example.com' },
      ...{ smtpUsername: '', smtpPassword: '', encryptionOption: 'NONE' },
    },
  ] as const;
};

/** Types that send nothing over the network. */
export const LOCAL_TARGETS = ['router', 'bulletin_message', 'notifications_log', 'default'] as const;
